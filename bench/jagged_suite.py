"""Cases of a suite file: what they hold, which pairs they let see, and seeded inputs for them.

A suite file is a JSON list of cases {name, dtype, heads_q, heads_kv, head_dim, causal, window,
broadcast_q, kv_lengths, q_lengths?, q_length?, block_sparse?}. NumPy only.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

BACKWARD_COST = 2.5  # flops of the backward pass, in forward passes


@dataclass(frozen=True)
class BlockSparse:
    """Query block i of a sequence with nq and nk blocks sees key blocks j with
    |i + nk - nq - j| <= local, and j < num_global."""

    block_q: int
    block_kv: int
    local: int
    num_global: int


@dataclass(frozen=True)
class Case:
    name: str
    dtype: str
    heads_q: int
    heads_kv: int
    head_dim: int
    left: int  # keys seen before a row's own position; -1: all
    right: int  # keys seen after it; -1: all
    broadcast_q: bool
    q_lengths: tuple[int, ...]  # one a sequence, with broadcast_q all the same
    kv_lengths: tuple[int, ...]
    block_sparse: BlockSparse | None

    @property
    def q_rows(self) -> int:
        """Rows of the tensor q."""
        return self.q_lengths[0] if self.broadcast_q else sum(self.q_lengths)


def parse_block_sparse(entry: dict | None) -> BlockSparse | None:
    if entry is None:
        return None
    block_q, block_kv = entry["block"]
    return BlockSparse(block_q, block_kv, entry["local"], entry["global"])


def parse_case(entry: dict) -> Case:
    kv_lengths = tuple(entry["kv_lengths"])
    broadcast_q = entry["broadcast_q"]
    if broadcast_q:
        q_lengths = (entry["q_length"],) * len(kv_lengths)
    else:
        q_lengths = tuple(entry.get("q_lengths", kv_lengths))
    if len(q_lengths) != len(kv_lengths):
        raise ValueError(f"{entry['name']}: {len(q_lengths)} q_lengths and {len(kv_lengths)} "
                         "kv_lengths")
    left, right = entry["window"]
    return Case(
        name=entry["name"], dtype=entry["dtype"], heads_q=entry["heads_q"],
        heads_kv=entry["heads_kv"], head_dim=entry["head_dim"], left=left,
        right=0 if entry["causal"] else right, broadcast_q=broadcast_q, q_lengths=q_lengths,
        kv_lengths=kv_lengths,
        block_sparse=parse_block_sparse(entry.get("block_sparse")))


def read_entries(path: Path, name_part: str = "") -> list[dict]:
    """The cases of a suite file as JSON holds them, those whose name holds `name_part`."""
    entries = [entry for entry in json.loads(path.read_text()) if name_part in entry["name"]]
    if not entries:
        raise SystemExit(f"{path} has no case with '{name_part}' in its name")
    return entries


def mask(case: Case, q_length: int, kv_length: int) -> np.ndarray:
    """`[q_length, kv_length]`, true where a row sees a key. Positions are aligned at the bottom
    right: row i sits at key i + kv_length - q_length."""
    row = np.arange(q_length)[:, None]
    key = np.arange(kv_length)[None, :]
    position = row + kv_length - q_length
    seen = np.ones((q_length, kv_length), dtype=bool)
    if case.left >= 0:
        seen &= key >= position - case.left
    if case.right >= 0:
        seen &= key <= position + case.right
    if case.block_sparse:
        sparse = case.block_sparse
        shift = -(-kv_length // sparse.block_kv) - -(-q_length // sparse.block_q)
        key_block = key // sparse.block_kv
        distance = abs(row // sparse.block_q + shift - key_block)
        seen &= (distance <= sparse.local) | (key_block < sparse.num_global)
    return seen


def unmasked(case: Case) -> bool:
    """Whether every row sees every key of its sequence."""
    return case.left < 0 and case.right < 0 and case.block_sparse is None


def plain_causal(case: Case) -> bool:
    """Whether row i sees exactly keys 0 to i of its sequence."""
    return (case.left < 0 and case.right == 0 and case.block_sparse is None
            and case.q_lengths == case.kv_lengths)


def pairs(case: Case) -> int:
    """Unmasked query-key pairs of one head, over the batch."""
    if unmasked(case):
        return sum(q * kv for q, kv in zip(case.q_lengths, case.kv_lengths))
    return sum(int(mask(case, q, kv).sum()) for q, kv in zip(case.q_lengths, case.kv_lengths))


def flops(case: Case) -> float:
    """Floating-point operations of the forward pass over unmasked pairs."""
    return 4.0 * case.head_dim * case.heads_q * pairs(case)


def round_to_bf16(values: np.ndarray) -> np.ndarray:
    """fp32 values rounded to the nearest bf16 (ties to even), kept as fp32."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (rounded & np.uint32(0xFFFF0000)).view(np.float32)


def inputs(case: Case) -> dict[str, np.ndarray]:
    """`q, k, v, dout` of a case: standard normal, rounded to bf16, held as fp32. The seed is the
    CRC-32 of the name; the four tensors are drawn one after the other from NumPy's PCG64."""
    generator = np.random.Generator(np.random.PCG64(zlib.crc32(case.name.encode())))
    rows = {"q": (case.q_rows, case.heads_q), "k": (sum(case.kv_lengths), case.heads_kv),
            "v": (sum(case.kv_lengths), case.heads_kv), "dout": (sum(case.q_lengths), case.heads_q)}
    return {name: round_to_bf16(generator.standard_normal((*shape, case.head_dim), np.float32))
            for name, shape in rows.items()}
