"""Attention and plans on NumPy arrays, and on what turns into them without a copy, by the CPU
engine."""

import numpy as np

from jfa import _abi
from jfa._arguments import require, window_sides

# bfloat16 is not NumPy's own: the package ml_dtypes brings it.
_FLOATS = {"bfloat16": _abi.BF16, "float16": _abi.F16, "float32": _abi.F32}
_INTS = {"int32": _abi.I32, "int64": _abi.I64}


def _array(x):
    if hasattr(x, "__array__") or not hasattr(x, "__dlpack__"):
        return np.asarray(x)
    return np.from_dlpack(x)


def _dtype(name, array, dtypes):
    dtype = array.dtype
    require(dtype.name in dtypes, f"{name}.dtype", dtype, f"one of {list(dtypes)}")
    require(dtype.isnative, f"{name}.dtype", dtype, "in this machine's byte order")
    return dtypes[dtype.name]


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
    """jfa_tensor's fields."""
    row, head = (stride // array.itemsize for stride in array.strides[:2])
    return (array.ctypes.data, _dtype(name, array, _FLOATS), *array.shape, row, head)


def _index(name, array):
    """jfa_index's fields; None is absent."""
    if array is None:
        return _abi.ABSENT
    return array.ctypes.data, _dtype(name, array, _INTS), array.size


def _usable_index(name, x, most_dims=1):
    if x is None:
        return None
    array = _array(x)
    require(1 <= array.ndim <= most_dims, f"{name}.ndim", array.ndim, most_dims)
    return np.ascontiguousarray(array)


def _usable_lse(name, x):
    if x is None:
        return None
    array = np.ascontiguousarray(_array(x))
    require(array.ndim == 2, f"{name}.ndim", array.ndim, "2: [heads, rows]")
    require(array.dtype == np.float32, f"{name}.dtype", array.dtype, "float32")
    return array


def _lse(array):
    """jfa_lse's fields of a contiguous array; None is absent."""
    if array is None:
        return _abi.NO_LSE
    return array.ctypes.data, *array.shape, array.shape[1]


def _handle(plan):
    return None if plan is None else _abi.plan_handle(plan.number.value)


class _Problem:
    """The structs of a call, and the arrays that they point into."""

    def __init__(
        self, q, k, v, kv_offsets, q_offsets, q_lengths, kv_lengths, causal, window, block_sparse,
        softmax_scale=None, softcap=0.0, deterministic=False,
    ):  # fmt: skip
        require(kv_offsets is not None, "kv_offsets", None, "an array")
        self.q, self.k, self.v = (_usable(n, x) for n, x in (("q", q), ("k", k), ("v", v)))
        kv_offsets = _usable_index("kv_offsets", kv_offsets)
        q_offsets = _usable_index("q_offsets", q_offsets)
        kv_lengths = _usable_index("kv_lengths", kv_lengths)
        q_lengths = _usable_index("q_lengths", q_lengths)
        self.indices = [kv_offsets, q_offsets, kv_lengths, q_lengths]
        self.inputs = _abi.pack_inputs(
            *_tensor("q", self.q),
            *_tensor("k", self.k),
            *_tensor("v", self.v),
            *_index("kv_offsets", kv_offsets),
            *_index("q_offsets", q_offsets),
            *_index("kv_lengths", kv_lengths),
            *_index("q_lengths", q_lengths),
        )
        sides = window_sides(window)
        self.options = _abi.options(causal, *sides, softmax_scale, softcap, deterministic)
        if block_sparse is not None:
            self._add_block_sparse(*block_sparse)

    def _add_block_sparse(self, block_q, block_kv, row_offsets, columns):
        for name, x in (("row_offsets", row_offsets), ("columns", columns)):
            require(x is not None, f"block_sparse.{name}", None, "an array")
        row_offsets = _usable_index("block_sparse.row_offsets", row_offsets, most_dims=2)
        columns = _usable_index("block_sparse.columns", columns)
        self.indices += row_offsets, columns
        self.options = _abi.with_block_sparse(
            self.options,
            block_q,
            block_kv,
            row_offsets.shape[0] if row_offsets.ndim == 2 else 1,
            *_index("block_sparse.row_offsets", row_offsets),
            *_index("block_sparse.columns", columns),
        )


def attention(return_lse, *arguments):
    *problem, plan, _ = arguments  # the CPU engine checks always
    problem = _Problem(*problem)
    kv_offsets, q_offsets = problem.indices[:2]
    rows, heads, head_dim = problem.q.shape
    if q_offsets is None:
        rows *= max(kv_offsets.size - 1, 0)
    out = np.empty((rows, heads, head_dim), problem.q.dtype)
    lse = np.empty((heads, rows), np.float32)
    outputs = _abi.pack_forward_outputs(*_tensor("out", out), *_lse(lse))
    _abi.forward(problem.inputs, problem.options, outputs, None, _handle(plan))
    return (out, lse) if return_lse else out


def attention_backward(dout, out, lse, dlse, *arguments):
    *problem, plan, _ = arguments
    problem = _Problem(*problem)
    dout, out = _usable("dout", dout), _usable("out", out)
    lse, dlse = _usable_lse("lse", lse), _usable_lse("dlse", dlse)
    given = _abi.pack_backward_inputs(
        *_tensor("dout", dout), *_tensor("out", out), *_lse(lse), *_lse(dlse)
    )
    dq, dk, dv = gradients = [np.empty(t.shape, t.dtype) for t in (problem.q, problem.k, problem.v)]
    outputs = _abi.pack_backward_outputs(*_tensor("dq", dq), *_tensor("dk", dk), *_tensor("dv", dv))
    _abi.backward(problem.inputs, problem.options, given, outputs, None, _handle(plan))
    return tuple(gradients)


def make_plan(*arguments):
    problem = _Problem(*arguments)
    return _abi.create_plan(problem.inputs, problem.options, None)
