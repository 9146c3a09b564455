"""What attention and Plan take beside arrays, and the structs made of it, whatever the arrays."""

from ctypes import pointer
from typing import Any, NamedTuple

from jfa import _abi

ABSENT = _abi.Index()


class BlockSparse(NamedTuple):
    """Lists, for each block of queries, the blocks of keys it sees: docs/contract.md.

    `row_offsets` is `[n + 1]` for all heads alike, or `[heads_q, n + 1]`; capacity beyond `n + 1`
    and beyond the last column is not read.
    """

    block_q: int
    block_kv: int
    row_offsets: Any
    columns: Any


def require(condition, name, value, allowed):
    if not condition:
        raise _abi.InvalidArgument(f"{name} is {value}, must be {allowed}")


def window_sides(window):
    require(len(window) == 2, "window", window, "a pair (left, right)")
    return window


def make_options(
    block_sparse, block_heads, block_q, block_kv, causal, left, right, scale, softcap, deterministic
):
    """jfa_options. `block_sparse`: None, or the indices (row_offsets, columns)."""
    blocks = None
    if block_sparse is not None:
        blocks = pointer(
            _abi.sized(_abi.BlockSparse, block_q, block_kv, block_heads, *block_sparse)
        )
    has_scale = scale is not None
    return _abi.sized(
        _abi.Options,
        left,
        right,
        causal,
        deterministic,
        has_scale,
        scale if has_scale else 0.0,
        softcap,
        blocks,
    )
