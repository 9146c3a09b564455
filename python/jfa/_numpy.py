"""Attention and plans on NumPy arrays, and on what turns into them without a copy, by the CPU
engine."""

import numpy as np

from jfa import _abi
from jfa._arguments import ABSENT, make_options, require, window_sides

# bfloat16 is not NumPy's own: the package ml_dtypes brings it.
_DTYPES = {
    "bfloat16": _abi.BF16,
    "float16": _abi.F16,
    "float32": _abi.F32,
    "int32": _abi.I32,
    "int64": _abi.I64,
}


def _array(x):
    if hasattr(x, "__array__") or not hasattr(x, "__dlpack__"):
        return np.asarray(x)
    return np.from_dlpack(x)


def _dtype(name, array):
    try:
        return _DTYPES[array.dtype.name]
    except KeyError:
        require(False, f"{name}.dtype", array.dtype, f"one of {list(_DTYPES)}")


def _usable(name, x):
    """An array whose last dimension is contiguous, copied where it is not, or where it runs
    backwards."""
    array = _array(x)
    require(array.ndim == 3, f"{name}.ndim", array.ndim, "3: [rows, heads, head_dim]")
    size = array.itemsize
    row, head, last = array.strides
    usable = last == size and row >= 0 and head >= 0 and row % size == head % size == 0
    return array if usable else np.ascontiguousarray(array)


def _tensor(name, array):
    rows, heads, head_dim = array.shape
    row, head = (stride // array.itemsize for stride in array.strides[:2])
    return _abi.Tensor(array.ctypes.data, _dtype(name, array), rows, heads, head_dim, row, head)


def _index(name, array):
    if array is None:
        return ABSENT
    return _abi.Index(array.ctypes.data, _dtype(name, array), array.size)


class _Problem:
    """The structs of a call, and the arrays that they point into."""

    def __init__(
        self, q, k, v, kv_offsets, q_offsets, q_lengths, kv_lengths, causal, window, block_sparse,
        softmax_scale=None, softcap=0.0, deterministic=False,
    ):  # fmt: skip
        self.arrays = arrays = [_usable(n, x) for n, x in (("q", q), ("k", k), ("v", v))]
        names = ("kv_offsets", "q_offsets", "kv_lengths", "q_lengths")
        indices = kv_offsets, q_offsets, kv_lengths, q_lengths
        block_q, block_kv, heads = 0, 0, 1
        if block_sparse is not None:
            block_q, block_kv, rows, columns = block_sparse
            names += "block_sparse.row_offsets", "block_sparse.columns"
            indices += rows, columns
            heads = np.shape(rows)[0] if np.ndim(rows) == 2 else 1
        self.indices = [x if x is None else np.ascontiguousarray(_array(x)) for x in indices]
        structs = [_index(*pair) for pair in zip(names, self.indices)]
        tensors = [_tensor(*pair) for pair in zip("qkv", arrays)]
        self.inputs = _abi.sized(_abi.Inputs, *tensors, *structs[:4])
        self.options = make_options(
            structs[4:] or None, heads, block_q, block_kv, causal, *window_sides(window),
            softmax_scale, softcap, deterministic,
        )  # fmt: skip


def attention(*arguments):
    *problem, plan = arguments
    problem = _Problem(*problem)
    q = problem.arrays[0]
    rows, heads, head_dim = q.shape
    if problem.indices[1] is None:
        rows *= problem.indices[0].size - 1
    out = np.empty((rows, heads, head_dim), q.dtype)
    lse = np.empty((heads, rows), np.float32)
    lse_struct = _abi.Lse(lse.ctypes.data, heads, rows, rows)
    outputs = _abi.sized(_abi.ForwardOutputs, _tensor("out", out), lse_struct)
    handle = None if plan is None else _abi.plan_handle(plan.number.value)
    _abi.forward(problem.inputs, problem.options, outputs, None, handle)
    return out, lse


def make_plan(*arguments):
    problem = _Problem(*arguments)
    return _abi.create_plan(problem.inputs, problem.options, None)
