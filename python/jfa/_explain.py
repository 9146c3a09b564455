"""What is wrong with the arguments of a call that failed with an error of Python's or PyTorch's own.

They are looked at one by one only then: a call that works pays nothing for it.
"""

import operator
import sys

from jfa import _abi
from jfa._arguments import BlockSparse, require, window_sides

_ARRAYS = ("q", "k", "v", "kv_offsets", "q_offsets", "q_lengths", "kv_lengths")
_OF_BACKWARD = ("dout", "out", "lse", "dlse")
_MAY_BE_NONE = {"q_offsets", "q_lengths", "kv_lengths", "dlse"}


def explain(error, arguments):
    """Raises jfa.InvalidArgument, from `error`, where one of `arguments` (by name, as they were
    given to jfa.attention and the like) is not what it must be."""
    if isinstance(error, _abi.Error):
        return
    try:
        _check(arguments)
    except _abi.InvalidArgument as explanation:
        raise explanation from error


def _check(arguments):
    torch = sys.modules.get("torch")
    of_torch = torch is not None and isinstance(arguments["q"], torch.Tensor)
    arrays = {name: arguments[name] for name in _ARRAYS + _OF_BACKWARD if name in arguments}
    block_sparse = arguments.get("block_sparse")
    if block_sparse is not None:
        arrays |= _block_lists(block_sparse)
    for name, array in arrays.items():
        if array is None and name in _MAY_BE_NONE:
            continue
        require(array is not None, name, None, "a tensor" if of_torch else "an array")
        if of_torch:
            _check_tensor(torch, name, array)
        else:
            _check_array(name, array)
    _check_plan(arguments.get("plan"), of_torch)
    for side in window_sides(arguments["window"]):
        _check_by(operator.index, "window", side, "a pair of integers")
    if arguments.get("softmax_scale") is not None:
        _check_by(float, "softmax_scale", arguments["softmax_scale"], "a number")
    _check_by(float, "softcap", arguments.get("softcap", 0.0), "a number")
    for name in ("causal", "deterministic", "check"):
        _check_by(bool, name, arguments.get(name, False), "True or False")


def _block_lists(block_sparse):
    fields = isinstance(block_sparse, (tuple, list)) and len(block_sparse) == 4
    require(fields, "block_sparse", _kind(block_sparse), "a jfa.BlockSparse")
    given = BlockSparse(*block_sparse)
    for name in ("block_q", "block_kv"):
        size = getattr(given, name)
        _check_by(_index_of_64_bits, f"block_sparse.{name}", size, "an integer of 64 bits")
    return {f"block_sparse.{name}": getattr(given, name) for name in ("row_offsets", "columns")}


def _index_of_64_bits(value):
    return operator.index(value).to_bytes(8, signed=True, byteorder="little")


def _check_array(name, array):
    from jfa._numpy import _array

    _check_by(_array, name, array, "an array, or what turns into one")


def _check_tensor(torch, name, tensor):
    require(isinstance(tensor, torch.Tensor), name, _kind(tensor), "a torch.Tensor, as q is")
    nested = "not nested: jfa.jagged_attention takes nested tensors"
    require(not tensor.is_nested, name, "a nested tensor", nested)
    require(tensor.layout == torch.strided, f"{name}.layout", tensor.layout, torch.strided)
    require(not tensor.is_quantized, f"{name}.dtype", tensor.dtype, "not quantized")


def _check_plan(plan, of_torch):
    if plan is None:
        return
    from jfa import Plan

    require(isinstance(plan, Plan), "plan", _kind(plan), "a jfa.Plan")
    has_tensor = not isinstance(plan.number, _abi.PlanNumber)
    kinds = "NumPy arrays", "PyTorch tensors"
    require(has_tensor == of_torch, "plan", f"one of {kinds[has_tensor]}", f"of {kinds[of_torch]}")
    require(
        not has_tensor or plan.number.device.type != "meta",
        "plan",
        "one of meta tensors",
        "of tensors with values",
    )


def _check_by(convert, name, value, allowed):
    try:
        convert(value)
    except Exception:
        require(False, name, _kind(value), allowed)


def _kind(value):
    shape = None if getattr(value, "is_nested", False) else getattr(value, "shape", None)
    of_shape = f" of shape {tuple(shape)}" if isinstance(shape, tuple) else ""
    return f"a {type(value).__name__}{of_shape}"
