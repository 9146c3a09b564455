"""Attention and plans on PyTorch tensors: operators jfa::forward, jfa::backward, jfa::make_plan.

An operator's arguments are those of jfa.attention with its options spread out. A plan travels as
the tensor that holds its number, so that torch.compile and autograd treat it as any other input.
"""

import torch
from torch.autograd.function import once_differentiable

from jfa import _abi
from jfa._arguments import require, window_sides

_PROBLEM = """Tensor q, Tensor k, Tensor v, Tensor kv_offsets, Tensor? q_offsets, Tensor? q_lengths,
    Tensor? kv_lengths, Tensor? block_row_offsets, Tensor? block_columns, Tensor? plan, int block_q,
    int block_kv, bool causal, int window_left, int window_right, float? softmax_scale,
    float softcap, bool deterministic"""
_OTHER_TENSORS = 7  # of _PROBLEM, after q, k and v
_INDICES = ("kv_offsets", "q_offsets", "q_lengths", "kv_lengths")

_library = torch.library.Library("jfa", "DEF")
_TAGS = (torch.Tag.pt2_compliant_tag,)
_library.define(f"forward({_PROBLEM}) -> (Tensor out, Tensor lse)", tags=_TAGS)
_library.define(
    f"backward(Tensor dout, Tensor out, Tensor lse, Tensor? dlse, {_PROBLEM})"
    " -> (Tensor dq, Tensor dk, Tensor dv)",
    tags=_TAGS,
)
_library.define(f"make_plan({_PROBLEM}) -> Tensor", tags=_TAGS)
_forward_op = torch.ops.jfa.forward.default
_backward_op = torch.ops.jfa.backward.default
_make_plan_op = torch.ops.jfa.make_plan.default

_DTYPES = {
    torch.bfloat16: _abi.BF16,
    torch.float16: _abi.F16,
    torch.float32: _abi.F32,
    torch.int32: _abi.I32,
    torch.int64: _abi.I64,
}


def _dtype(name, t):
    try:
        return _DTYPES[t.dtype]
    except KeyError:
        require(False, f"{name}.dtype", t.dtype, f"one of {list(_DTYPES)}")


# ---- tensors as fields of structs


def _tensor(name, t):
    """jfa_tensor's fields of `[rows, heads, head_dim]`."""
    row_stride, head_stride, _ = t.stride()
    return (t.data_ptr(), _dtype(name, t), *t.shape, row_stride, head_stride)


def _lse(t):
    return (t.data_ptr() or _abi.NOWHERE, *t.shape, t.stride(0))


def _index(name, t):
    """jfa_index's fields of a contiguous tensor; None is absent."""
    if t is None:
        return _abi.ABSENT
    return t.data_ptr() or _abi.NOWHERE, _dtype(name, t), t.numel()


def _usable(name, t):
    """`t`, or a copy where its layout is none that the engine of its device takes."""
    if t.dim() != 3:
        require(False, f"{name}.dim()", t.dim(), "3: [rows, heads, head_dim]")
    row_stride, head_stride, stride = t.stride()
    usable = stride == 1 or t.shape[2] == 1
    if t.is_cuda:
        usable &= (row_stride | head_stride) % 8 == 0 and t.data_ptr() % 16 == 0
        usable &= row_stride > 0 and head_stride > 0
    return t if usable else t.clone(memory_format=torch.contiguous_format)


def _usable_index(name, t, device, most_dims=1):
    if t is None:
        return None
    if not 1 <= t.dim() <= most_dims:
        require(False, f"{name}.dim()", t.dim(), most_dims)
    if t.device != device:
        require(False, f"{name}.device", t.device, f"{device}, as q.device")
    return t.contiguous()


class _Problem:
    """The structs of a call, and the tensors that they point into."""

    def __init__(self, q, k, v, *rest):
        *indices, row_offsets, columns, plan, block_q, block_kv = rest[:9]
        *mask_and_scores, deterministic = rest[9:]
        device = q.device
        for name, t in (("k", k), ("v", v)):
            if t.device != device:
                require(False, f"{name}.device", t.device, f"{device}, as q.device")
        self.q, self.k, self.v = q, k, v = _usable("q", q), _usable("k", k), _usable("v", v)
        kv_offsets, q_offsets, q_lengths, kv_lengths = self.indices = [
            _usable_index(name, t, device) for name, t in zip(_INDICES, indices)
        ]
        self.inputs = _abi.pack_inputs(
            *_tensor("q", q),
            *_tensor("k", k),
            *_tensor("v", v),
            *_index("kv_offsets", kv_offsets),
            *_index("q_offsets", q_offsets),
            *_index("kv_lengths", kv_lengths),
            *_index("q_lengths", q_lengths),
        )
        deterministic = deterministic or torch.are_deterministic_algorithms_enabled()
        self.options = _abi.options(*mask_and_scores, deterministic)
        if row_offsets is not None:
            self._add_block_sparse(block_q, block_kv, row_offsets, columns)
        self.plan = None if plan is None else _abi.plan_handle(plan.item())

    def _add_block_sparse(self, block_q, block_kv, *lists):
        heads = lists[0].shape[0] if lists[0].dim() == 2 else 1
        names = "block_sparse.row_offsets", "block_sparse.columns"
        lists = [
            _usable_index(name, t, self.q.device, most_dims)
            for name, t, most_dims in zip(names, lists, (2, 1))
        ]
        self.indices += lists
        fields = [field for name, t in zip(names, lists) for field in _index(name, t)]
        self.options = _abi.with_block_sparse(self.options, block_q, block_kv, heads, *fields)

    def out_rows(self):
        kv_offsets, q_offsets = self.indices[:2]
        rows = self.q.shape[0]
        return rows if q_offsets is not None else rows * (kv_offsets.numel() - 1)

    def run(self, workspace_bytes, call):
        """`call(execution)` with the engine of the tensors' device, on its current stream."""
        if not self.q.is_cuda:
            return call(_abi.cpu_execution(torch.get_num_threads()))
        index = self.q.device.index
        if torch.cuda.current_device() == index:
            return self._run_on_current_gpu(index, workspace_bytes, call)
        with torch.cuda.device(index):
            return self._run_on_current_gpu(index, workspace_bytes, call)

    def _run_on_current_gpu(self, index, workspace_bytes, call):
        execution = _abi.cuda_execution(torch._C._cuda_getCurrentRawStream(index))
        size = workspace_bytes(self.inputs, self.options, execution)
        self.workspace = self.q.new_empty(size, dtype=torch.uint8)
        execution.workspace = self.workspace.data_ptr()
        execution.workspace_bytes = size
        return call(execution)


# ---- operators


def _forward_bytes(*call):
    return _abi.workspace_sizes(*call)[0]


def _backward_bytes(*call):
    return _abi.workspace_sizes(*call)[1]


def _forward(*arguments):
    problem = _Problem(*arguments)
    q, rows = problem.q, problem.out_rows()
    _, heads, head_dim = q.shape
    out = q.new_empty((rows, heads, head_dim))
    lse = q.new_empty((heads, rows), dtype=torch.float32)
    outputs = _abi.pack_forward_outputs(*_tensor("out", out), *_lse(lse))

    def call(execution):
        _abi.forward(problem.inputs, problem.options, outputs, execution, problem.plan)

    problem.run(_forward_bytes, call)
    return out, lse


def _backward(dout, out, lse, dlse, *arguments):
    problem = _Problem(*arguments)
    dout, out = _usable("dout", dout), _usable("out", out)
    dlse = None if dlse is None else dlse.contiguous()
    given = _abi.pack_backward_inputs(
        *_tensor("dout", dout),
        *_tensor("out", out),
        *_lse(lse),
        *(_abi.NO_LSE if dlse is None else _lse(dlse)),
    )
    dq, dk, dv = gradients = [t.new_empty(t.shape) for t in (problem.q, problem.k, problem.v)]
    outputs = _abi.pack_backward_outputs(*_tensor("dq", dq), *_tensor("dk", dk), *_tensor("dv", dv))

    def call(execution):
        _abi.backward(problem.inputs, problem.options, given, outputs, execution, problem.plan)

    problem.run(_backward_bytes, call)
    return tuple(gradients)


def _make_plan(*arguments):
    problem = _Problem(*arguments)

    def call(execution):
        return _abi.create_plan(problem.inputs, problem.options, execution)

    number = problem.run(_abi.plan_workspace_size, call)
    number.memory = getattr(problem, "workspace", None)  # a plan on a GPU lives there
    return torch.frombuffer(number, dtype=torch.int64)  # keeps `number` alive


for _device in ("CPU", "CUDA"):
    _library.impl("forward", _forward, _device)
    _library.impl("backward", _backward, _device)
    _library.impl("make_plan", _make_plan, _device)


@torch.library.register_fake("jfa::forward", lib=_library)
def _(q, k, v, kv_offsets, q_offsets, *_):
    rows = q.shape[0] * (kv_offsets.shape[0] - 1) if q_offsets is None else q.shape[0]
    out = q.new_empty((rows, *q.shape[1:]))
    return out, q.new_empty((q.shape[1], rows), dtype=torch.float32)


@torch.library.register_fake("jfa::backward", lib=_library)
def _(dout, out, lse, dlse, q, k, v, *_):
    return tuple(t.new_empty(t.shape) for t in (q, k, v))


@torch.library.register_fake("jfa::make_plan", lib=_library)
def _(*_):
    return torch.empty(1, dtype=torch.int64, device="cpu")


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, rest):
        with torch._C._AutoDispatchBelowAutograd():
            out, lse = _forward_op(q, k, v, *rest)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(out, lse, q, k, v, *rest[:_OTHER_TENSORS])
        ctx.options = rest[_OTHER_TENSORS:]
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx, dout, dlse):
        out, lse, *tensors = ctx.saved_tensors
        if dout is None and dlse is None:
            return None, None, None, None
        if dout is None:
            dout = torch.zeros_like(out)
        return *_backward_op(dout, out, lse, dlse, *tensors, *ctx.options), None


def _forward_with_autograd(q, k, v, *rest):
    if torch._C._are_functorch_transforms_active():
        _refuse_transforms()
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        return _Attention.apply(q, k, v, rest)
    with torch._C._AutoDispatchBelowAutograd():
        return _forward_op(q, k, v, *rest)


def _refuse_transforms(*_):
    raise _abi.Unsupported(
        "attention is called inside a torch.func transform (vmap, grad, jvp, ...), must be called"
        " outside: pack what vmap would batch into one jagged batch, and use torch.autograd"
    )


_library.impl("forward", _forward_with_autograd, "Autograd")
for _name in ("forward", "backward", "make_plan"):
    _library.impl(_name, _refuse_transforms, "FuncTorchBatched")


# ---- what jfa.attention and jfa.Plan call


def _arguments(
    q, k, v, kv_offsets, q_offsets, q_lengths, kv_lengths, causal, window, block_sparse, plan
):
    left, right = window_sides(window)
    block_q, block_kv, rows, columns = block_sparse or (0, 0, None, None)
    tensors = q, k, v, kv_offsets, q_offsets, q_lengths, kv_lengths, rows, columns, plan
    return *tensors, block_q, block_kv, causal, left, right


def attention(
    q,
    k,
    v,
    kv_offsets,
    q_offsets,
    q_lengths,
    kv_lengths,
    causal,
    window,
    block_sparse,
    softmax_scale,
    softcap,
    deterministic,
    plan,
):
    kind = q.device.type
    if torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
        q, k, v = q.to(dtype), k.to(dtype), v.to(dtype)
    number = None if plan is None else plan.number
    problem = _arguments(
        q, k, v, kv_offsets, q_offsets, q_lengths, kv_lengths, causal, window, block_sparse, number
    )
    return _forward_op(*problem, softmax_scale, softcap, deterministic)


def make_plan(*problem):
    return _make_plan_op(*_arguments(*problem, None), None, 0.0, False)
