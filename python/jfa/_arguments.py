"""What attention and Plan take beside arrays, whatever the arrays."""

from typing import Any, NamedTuple

from jfa import _abi


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
    pair = isinstance(window, (tuple, list)) and len(window) == 2
    require(pair, "window", window, "a pair (left, right)")
    return window
