"""Attention and plans on PyTorch tensors: operators jfa::forward, jfa::backward, jfa::make_plan.

An operator's arguments are those of jfa.attention with its options spread out. A plan travels as
the tensor that holds its number, so that torch.compile and autograd treat it as any other input.
"""

import torch
from torch.autograd.function import once_differentiable

from jfa import _abi
from jfa._arguments import ABSENT, make_options, require, window_sides

_PROBLEM = """Tensor q, Tensor k, Tensor v, Tensor kv_offsets, Tensor? q_offsets, Tensor? q_lengths,
    Tensor? kv_lengths, Tensor? block_row_offsets, Tensor? block_columns, Tensor? plan, int block_q,
    int block_kv, bool causal, int window_left, int window_right, float? softmax_scale,
    float softcap, bool deterministic"""
_TENSORS = 10  # of _PROBLEM, which come first
_ARGUMENTS = 18

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


# ---- tensors as structs


def _tensor(name, t):
    """jfa_tensor of `[rows, heads, head_dim]`."""
    rows, heads, head_dim = t.shape
    row_stride, head_stride, _ = t.stride()
    data = t.data_ptr()
    return _abi.Tensor(data, _dtype(name, t), rows, heads, head_dim, row_stride, head_stride)


def _lse(t):
    heads, rows = t.shape
    return _abi.Lse(t.data_ptr() or _abi.NOWHERE, heads, rows, t.stride(0))


def _index(name, t):
    """jfa_index of a contiguous tensor; None is absent."""
    if t is None:
        return ABSENT
    return _abi.Index(t.data_ptr() or _abi.NOWHERE, _dtype(name, t), t.numel())


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


class _Problem:
    """The structs of a call, and the tensors that they point into."""

    def __init__(
        self,
        q,
        k,
        v,
        kv_offsets,
        q_offsets,
        q_lengths,
        kv_lengths,
        block_row_offsets,
        block_columns,
        plan,
        block_q,
        block_kv,
        *rest,
    ):
        self.q, self.k, self.v = q, k, v = _usable("q", q), _usable("k", k), _usable("v", v)
        self.plan = None if plan is None else _abi.plan_handle(plan.item())
        names = ("kv_offsets", "q_offsets", "kv_lengths", "q_lengths")
        indices = kv_offsets, q_offsets, kv_lengths, q_lengths
        blocks, heads = None, 1
        if block_row_offsets is not None:
            names += "block_sparse.row_offsets", "block_sparse.columns"
            indices += block_row_offsets, block_columns
            heads = block_row_offsets.shape[0] if block_row_offsets.dim() == 2 else 1
        self.kept = indices = [t if t is None else t.contiguous() for t in indices]
        for name, t in zip(("k", "v", *names), (k, v, *indices)):
            if t is not None and t.device != q.device:
                require(False, f"{name}.device", t.device, f"{q.device}, as q.device")
        structs = [_index(name, t) for name, t in zip(names, indices)]
        if block_row_offsets is not None:
            blocks = structs[4:]
        q, k, v = _tensor("q", q), _tensor("k", k), _tensor("v", v)
        self.inputs = _abi.sized(_abi.Inputs, q, k, v, *structs[:4])
        *rest, deterministic = rest
        deterministic = deterministic or torch.are_deterministic_algorithms_enabled()
        self.options = make_options(
            blocks, heads, block_q, block_kv, *rest, deterministic=deterministic
        )

    def out_rows(self):
        inputs = self.inputs
        if inputs.q_offsets.data is not None:
            return inputs.q.rows
        return inputs.q.rows * (inputs.kv_offsets.size - 1)

    def run(self, workspace_bytes, call):
        """`call(execution)` with this problem's engine, on the current stream of a GPU."""
        if not self.q.is_cuda:
            return call(_abi.sized(_abi.Execution, _abi.CPU, torch.get_num_threads()))
        device = self.q.device
        with torch.cuda.device(device):
            execution = _abi.sized(_abi.Execution, _abi.CUDA)
            size = workspace_bytes(self.inputs, self.options, execution)
            self.workspace = torch.empty(size, dtype=torch.uint8, device=device)
            execution.workspace = self.workspace.data_ptr() or None
            execution.workspace_bytes = size
            execution.stream = torch.cuda.current_stream(device).cuda_stream
            return call(execution)


# ---- operators


def _forward(*arguments):
    problem = _Problem(*arguments)
    rows, (_, heads, head_dim) = problem.out_rows(), problem.q.shape
    out = problem.q.new_empty((rows, heads, head_dim))
    lse = torch.empty((heads, rows), dtype=torch.float32, device=out.device)
    outputs = _abi.sized(_abi.ForwardOutputs, _tensor("out", out), _lse(lse))
    problem.run(
        lambda *of: _abi.workspace_sizes(*of)[0],
        lambda execution: _abi.forward(
            problem.inputs, problem.options, outputs, execution, problem.plan
        ),
    )
    return out, lse


def _backward(dout, out, lse, dlse, *arguments):
    problem = _Problem(*arguments)
    dout, out = _usable("dout", dout), _usable("out", out)
    dlse = None if dlse is None else dlse.contiguous()
    lses = (_lse(lse),) if dlse is None else (_lse(lse), _lse(dlse))
    given = _abi.sized(_abi.BackwardInputs, _tensor("dout", dout), _tensor("out", out), *lses)
    gradients = [t.new_empty(t.shape) for t in (problem.q, problem.k, problem.v)]
    structs = [_tensor(name, t) for name, t in zip(("dq", "dk", "dv"), gradients)]
    outputs = _abi.sized(_abi.BackwardOutputs, *structs)
    problem.run(
        lambda *of: _abi.workspace_sizes(*of)[1],
        lambda execution: _abi.backward(
            problem.inputs, problem.options, given, outputs, execution, problem.plan
        ),
    )
    return tuple(gradients)


def _make_plan(*arguments):
    problem = _Problem(*arguments)
    number = problem.run(
        _abi.plan_workspace_size,
        lambda execution: _abi.create_plan(problem.inputs, problem.options, execution),
    )
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
    def forward(ctx, *arguments):
        with torch._C._AutoDispatchBelowAutograd():
            out, lse = _forward_op(*arguments)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*arguments[:_TENSORS], out, lse)
        ctx.options = arguments[_TENSORS:]
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx, dout, dlse):
        *tensors, out, lse = ctx.saved_tensors
        nothing = (None,) * (_ARGUMENTS - 3)
        if dout is None and dlse is None:
            return (None, None, None, *nothing)
        if dout is None:
            dout = torch.zeros_like(out)
        return *_backward_op(dout, out, lse, dlse, *tensors, *ctx.options), *nothing


def _forward_with_autograd(*arguments):
    if torch._C._are_functorch_transforms_active():
        _refuse_transforms()
    if torch.is_grad_enabled() and any(t.requires_grad for t in arguments[:3]):
        return _Attention.apply(*arguments)
    with torch._C._AutoDispatchBelowAutograd():
        return _forward_op(*arguments)


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
