"""Attention and plans on PyTorch tensors: operators jfa::forward, jfa::backward, jfa::make_plan.

An operator's arguments are those of jfa.attention with its options spread out. A plan travels as
the tensor that holds its number, so that torch.compile and autograd treat it as any other input.
Eager calls that nothing but autograd has a part in leave PyTorch's dispatcher out: it takes longer
than all else.
"""

import torch
from torch.autograd import forward_ad

from jfa import _abi
from jfa._arguments import require, window_sides

_PROBLEM = """Tensor q, Tensor k, Tensor v, Tensor kv_offsets, Tensor? q_offsets, Tensor? q_lengths,
    Tensor? kv_lengths, Tensor? block_row_offsets, Tensor? block_columns, Tensor? plan, int block_q,
    int block_kv, bool causal, int window_left, int window_right, float? softmax_scale,
    float softcap, bool deterministic, bool check"""
_TENSORS = 10  # of _PROBLEM

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

_FLOATS = {torch.bfloat16: _abi.BF16, torch.float16: _abi.F16, torch.float32: _abi.F32}
_INTS = {torch.int32: _abi.I32, torch.int64: _abi.I64}


def _dtype(name, t, dtypes):
    try:
        return dtypes[t.dtype]
    except KeyError:
        require(False, f"{name}.dtype", t.dtype, f"one of {list(dtypes)}")


# ---- tensors as fields of structs


def _tensor(name, t):
    """jfa_tensor's fields of `[rows, heads, head_dim]`."""
    row_stride, head_stride, _ = t.stride()
    return (t.data_ptr(), _dtype(name, t, _FLOATS), *t.shape, row_stride, head_stride)


def _lse(name, t):
    """jfa_lse's fields of a contiguous tensor; None is absent."""
    if t is None:
        return _abi.NO_LSE
    require(t.dim() == 2, f"{name}.dim()", t.dim(), "2: [heads, rows]")
    require(t.dtype == torch.float32, f"{name}.dtype", t.dtype, torch.float32)
    return (t.data_ptr() or _abi.NOWHERE, *t.shape, t.stride(0))


def _index(name, t):
    """jfa_index's fields of a contiguous tensor; None is absent."""
    if t is None:
        return _abi.ABSENT
    return t.data_ptr() or _abi.NOWHERE, _dtype(name, t, _INTS), t.numel()


def _require_device(device, **tensors):
    for name, t in tensors.items():
        if t is not None and t.device != device:
            require(False, f"{name}.device", t.device, f"{device}, as q.device")


def _usable(name, t):
    """`t`, or a copy where its layout is none that the engine of its device takes."""
    if t.dim() != 3:
        require(False, f"{name}.dim()", t.dim(), "3: [rows, heads, head_dim]")
    row_stride, head_stride, stride = t.stride()
    usable = (stride == 1 or t.shape[2] == 1) and not t.is_neg()
    if t.is_cuda:
        usable &= (row_stride | head_stride) % 8 == 0 and t.data_ptr() % 16 == 0
        usable &= row_stride > 0 and head_stride > 0
    return t if usable else t.clone(memory_format=torch.contiguous_format)


def _usable_index(name, t, device, most_dims=1):
    if t is None:
        return None
    if not 1 <= t.dim() <= most_dims:
        require(False, f"{name}.dim()", t.dim(), most_dims)
    _require_device(device, **{name: t})
    return t.contiguous()


class _Problem:
    """The structs of a call, and the tensors that they point into."""

    def __init__(
        self, q, k, v, kv_offsets, q_offsets, q_lengths, kv_lengths, row_offsets, columns, plan,
        block_q, block_kv, causal, left, right, softmax_scale, softcap, deterministic, check,
    ):  # fmt: skip
        device = q.device
        _require_device(device, k=k, v=v)
        self.device = device
        self.check = check and q.is_cuda  # the CPU engine always checks
        self.q, self.k, self.v = q, k, v = _usable("q", q), _usable("k", k), _usable("v", v)
        self.kv_offsets = kv_offsets = _usable_index("kv_offsets", kv_offsets, device)
        self.q_offsets = q_offsets = _usable_index("q_offsets", q_offsets, device)
        self.kv_lengths = kv_lengths = _usable_index("kv_lengths", kv_lengths, device)
        self.q_lengths = q_lengths = _usable_index("q_lengths", q_lengths, device)
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
        self.options = _abi.options(causal, left, right, softmax_scale, softcap, deterministic)
        if row_offsets is not None:
            self._add_block_sparse(block_q, block_kv, row_offsets, columns)
        self.plan = None if plan is None else _abi.plan_handle(plan.item())

    def _add_block_sparse(self, block_q, block_kv, *lists):
        heads = lists[0].shape[0] if lists[0].dim() == 2 else 1
        names = "block_sparse.row_offsets", "block_sparse.columns"
        self.lists = lists = [
            _usable_index(name, t, self.device, most_dims)
            for name, t, most_dims in zip(names, lists, (2, 1))
        ]
        fields = [field for name, t in zip(names, lists) for field in _index(name, t)]
        self.options = _abi.with_block_sparse(self.options, block_q, block_kv, heads, *fields)

    def run(self, workspace_bytes, call):
        """`call(execution)` with the engine of the tensors' device, on its current stream."""
        if not self.q.is_cuda:
            return call(_abi.cpu_execution(torch.get_num_threads()))
        index = self.device.index
        if torch._C._cuda_getDevice() == index:
            return self._run_on_current_gpu(index, workspace_bytes, call)
        with torch.cuda.device(index):
            return self._run_on_current_gpu(index, workspace_bytes, call)

    def _run_on_current_gpu(self, index, workspace_bytes, call):
        stream = torch._C._cuda_getCurrentRawStream(index)
        size = workspace_bytes(self.inputs, self.options, _abi.cuda_execution(stream))
        self.workspace = self.q.new_empty(size, dtype=torch.uint8)
        place = stream, self.workspace.data_ptr(), size
        if not self.check:
            return call(_abi.cuda_execution(*place))
        capturing = torch.cuda.is_current_stream_capturing()
        require(not capturing, "check", True, "False in a CUDA graph: it waits for the GPU")
        word = self.q.new_zeros(1, dtype=torch.int64)
        result = call(_abi.cuda_execution(*place, word.data_ptr()))
        _abi.raise_if_check_failed(word.item())
        return result


# ---- operators


def _forward_bytes(*call):
    return _abi.workspace_sizes(*call)[0]


def _backward_bytes(*call):
    return _abi.workspace_sizes(*call)[1]


_forward_in_c = _abi.python_forward(torch.Tensor)


def _new_results(q, kv_offsets, q_offsets):
    rows, heads, head_dim = q.shape
    if q_offsets is None:
        rows *= max(kv_offsets.numel() - 1, 0)
    return q.new_empty(rows, heads, head_dim), q.new_empty(heads, rows, dtype=torch.float32)


def _forward(*arguments):
    """(out, lse), with all that lies between tensors and engine done in C where it can be."""
    (
        q, k, v, kv_offsets, q_offsets, q_lengths, kv_lengths, row_offsets, _, plan, _, _, causal,
        left, right, softmax_scale, softcap, deterministic, check,
    ) = arguments  # fmt: skip
    device = q.get_device()
    elsewhere = device >= 0 and device != torch._C._cuda_getDevice()
    if elsewhere or check or row_offsets is not None or q.dim() != 3 or _forward_in_c is None:
        return _prepared_forward(*arguments)
    out, lse = _new_results(q, kv_offsets, q_offsets)
    deterministic = deterministic or torch.are_deterministic_algorithms_enabled()
    options = _abi.options(causal, left, right, softmax_scale, softcap, deterministic)
    handle = None if plan is None else _abi.plan_handle(plan.item())
    try:
        status = _forward_in_c(
            q, k, v, kv_offsets, q_offsets, kv_lengths, q_lengths, out, lse, options,
            torch.get_num_threads(), handle,
        )  # fmt: skip
    except RuntimeError:  # of DLPack, for a tensor that it cannot describe
        status = _abi.NOT_TAKEN
    if status == _abi.NOT_TAKEN:
        return _prepared_forward(*arguments)
    _abi.check(status)
    return out, lse


def _prepared_forward(*arguments):
    problem = _Problem(*arguments)
    out, lse = _new_results(problem.q, problem.kv_offsets, problem.q_offsets)
    outputs = _abi.pack_forward_outputs(*_tensor("out", out), *_lse("lse", lse))

    def call(execution):
        _abi.forward(problem.inputs, problem.options, outputs, execution, problem.plan)

    problem.run(_forward_bytes, call)
    return out, lse


def _backward(dout, out, lse, dlse, *arguments):
    problem = _Problem(*arguments)
    _require_device(problem.device, dout=dout, out=out, lse=lse, dlse=dlse)
    dout, out, lse = _usable("dout", dout), _usable("out", out), lse.contiguous()
    dlse = None if dlse is None else dlse.contiguous()
    given = _abi.pack_backward_inputs(
        *_tensor("dout", dout), *_tensor("out", out), *_lse("lse", lse), *_lse("dlse", dlse)
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
    _require_device(q.device, k=k, v=v, kv_offsets=kv_offsets, q_offsets=q_offsets)
    rows = q.shape[0] * (kv_offsets.shape[0] - 1) if q_offsets is None else q.shape[0]
    out = q.new_empty((rows, *q.shape[1:]))
    return out, q.new_empty((q.shape[1], rows), dtype=torch.float32)


@torch.library.register_fake("jfa::backward", lib=_library)
def _(dout, out, lse, dlse, q, k, v, *_):
    _require_device(q.device, k=k, v=v, dout=dout, out=out, lse=lse, dlse=dlse)
    return tuple(t.new_empty(t.shape) for t in (q, k, v))


@torch.library.register_fake("jfa::make_plan", lib=_library)
def _(q, k, v, kv_offsets, q_offsets, *_):
    _require_device(q.device, k=k, v=v, kv_offsets=kv_offsets, q_offsets=q_offsets)
    device = "meta" if q.device.type == "meta" else "cpu"
    return torch.empty(1, dtype=torch.int64, device=device)


# ---- autograd, and eager calls without the dispatcher

_dispatch_modes = torch._C._len_torch_dispatch_stack
_function_modes = torch._C._len_torch_function_stack
_transforms = torch._C._are_functorch_transforms_active
_tracing = torch._C._is_tracing
_profiling = torch._C._autograd._profiler_enabled
_has_storage = torch._C._has_storage  # not that of a batch of gradients (is_grads_batched)
_PLAIN_TYPES = {torch.Tensor, torch.nn.Parameter, type(None)}


def _are_in_memory(tensors):
    """Whether the memory of tensors holds their values. That of negative views and of gradients
    known to be zero does not, which PyTorch's dispatcher puts right."""
    for t in tensors:
        if t is not None and (t.is_neg() or t._is_zerotensor()):
            return False
    return True


def _is_plain(arguments):
    """Whether nothing of PyTorch but autograd has a part in a call, so that its dispatcher may be
    left out: real tensors of this process, no mode, no transform, nothing that records calls."""
    q, k, v = arguments[:3]
    return (
        _PLAIN_TYPES.issuperset(map(type, arguments[:_TENSORS]))
        and (q.is_cuda or q.is_cpu)
        and _are_in_memory((q, k, v))  # offsets and lists always are
        and not _dispatch_modes()
        and not _function_modes()
        and not _transforms()
        and not _tracing()
        and not _profiling()
        and forward_ad._current_level < 0
    )


def _without_derivatives(gradients, *inputs):
    """`gradients` whose own derivatives raise. They are functions of q, k and v even where dout is
    a constant, which torch.autograd.function.once_differentiable overlooks."""
    message = b"trying to differentiate twice: jfa.attention has no second derivatives"
    results = *gradients, *(t for t in inputs if t is not None)
    return torch._C._functions.DelayedError(message, len(results))(*results)[: len(gradients)]


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, forward, q, k, v, arguments, with_lse):
        out, lse = forward(*arguments)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(out, lse, *arguments[:_TENSORS])
        ctx.options = arguments[_TENSORS:]
        ctx.plan = arguments[_TENSORS - 1]  # lives on where hooks save copies
        return (out, lse) if with_lse else out

    @staticmethod
    def backward(ctx, dout, dlse=None):
        if dout is None and dlse is None:
            return (None,) * 6
        out, lse, *tensors = ctx.saved_tensors
        if dout is None:
            dout = torch.zeros_like(out)
        plain = _PLAIN_TYPES.issuperset((type(dout), type(dlse))) and _is_plain(tensors)
        plain = plain and _are_in_memory((dout, dlse))
        plain = plain and _has_storage(dout) and (dlse is None or _has_storage(dlse))
        backward = _backward if plain else _backward_op
        with torch.no_grad():
            gradients = backward(dout, out, lse, dlse, *tensors, *ctx.options)
        if torch.is_grad_enabled():
            gradients = _without_derivatives(gradients, *tensors[:3], dout, dlse)
        return None, *gradients, None, None


# That of torch.autograd.Function first looks for torch.func's transforms, which are refused here.
_apply_attention = super(torch.autograd.Function, _Attention).apply


def _attend(forward, arguments, with_lse=True):
    """(out, lse), or out alone, which autograd records faster."""
    q, k, v = arguments[:3]
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        return _apply_attention(forward, q, k, v, arguments, with_lse)
    results = forward(*arguments)
    return results if with_lse else results[0]


def _forward_below_autograd(*arguments):
    with torch._C._AutoDispatchBelowAutograd():
        return _forward_op(*arguments)


def _forward_with_autograd(*arguments):
    if _is_plain(arguments):
        return _attend(_forward, arguments)
    if _transforms():
        _refuse_transforms()
    if forward_ad._current_level >= 0:
        _refuse_tangents(arguments[:3])
    return _attend(_forward_below_autograd, arguments)


def _refuse_transforms(*_):
    raise _abi.Unsupported(
        "attention is called inside a torch.func transform (vmap, grad, jvp, ...), must be called"
        " outside: pack what vmap would batch into one jagged batch, and use torch.autograd"
    )


def _refuse_tangents(tensors):
    if any(forward_ad.unpack_dual(t).tangent is not None for t in tensors):
        raise _abi.Unsupported(
            "attention is called on dual tensors of forward-mode differentiation, must be called"
            " on plain ones: its gradients are reverse-mode"
        )


_library.impl("forward", _forward_with_autograd, "Autograd")
for _name in ("forward", "backward", "make_plan"):
    _library.impl(_name, _refuse_transforms, "FuncTorchBatched")


# ---- what jfa.attention, jfa.attention_backward and jfa.Plan call

_NO_BLOCKS = 0, 0, None, None
_NUMBERS = float, int, type(None)  # no set, in which a tracer of PyTorch 2.4 looks for no type


def _require_constant(name, value):
    """A tensor's value is read, which autograd does not see."""
    if isinstance(value, torch.Tensor) and value.requires_grad and torch.is_grad_enabled():
        allowed = "a number or detached: it gets no gradient (softmax_scale may be put into q)"
        require(False, name, "a tensor that requires grad", allowed)


def _arguments(
    q, k, v, kv_offsets, q_offsets, q_lengths, kv_lengths, causal, window, block_sparse,
    softmax_scale=None, softcap=0.0, deterministic=False, plan=None, check=False,
):  # fmt: skip
    """An operator's arguments."""
    if kv_offsets is None:
        require(False, "kv_offsets", None, "a tensor")
    if type(softmax_scale) not in _NUMBERS or type(softcap) not in _NUMBERS:
        _require_constant("softmax_scale", softmax_scale)
        _require_constant("softcap", softcap)
    left, right = window_sides(window)
    block_q, block_kv, row_offsets, columns = block_sparse or _NO_BLOCKS
    if block_sparse is not None:
        for name, t in (("row_offsets", row_offsets), ("columns", columns)):
            require(t is not None, f"block_sparse.{name}", None, "a tensor")
    number = None if plan is None else plan.number
    return (
        q, k, v, kv_offsets, q_offsets, q_lengths, kv_lengths, row_offsets, columns, number,
        block_q, block_kv, causal, left, right, softmax_scale, softcap, deterministic, check,
    )  # fmt: skip


def _autocast(t, dtype):
    """`t` as autocast's own casts leave it: they pass fp64 and what is no float by."""
    return t.to(dtype) if t.is_floating_point() and t.dtype != torch.float64 else t


def attention(return_lse, q, k, v, *problem):
    kind = "cuda" if q.is_cuda else "cpu"
    if torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
        q, k, v = (_autocast(t, dtype) for t in (q, k, v))
    arguments = _arguments(q, k, v, *problem)
    if torch.compiler.is_compiling() or not _is_plain(arguments):
        results = _forward_op(*arguments)
        return results if return_lse else results[0]
    return _attend(_forward, arguments, return_lse)


def attention_backward(dout, out, lse, dlse, *problem):
    with torch.no_grad():
        return _backward_op(dout, out, lse, dlse, *_arguments(*problem))


def make_plan(*problem):
    return _make_plan_op(*_arguments(*problem))
