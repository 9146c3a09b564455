#!/usr/bin/env python3
"""Derives bench/suite_cpu.json from bench/suite.json: every case at a size for a CPU.

A case keeps its masks, blocks, dtype, head_dim and heads per group, and its distribution of
lengths. It gets fewer sequences, evenly spaced by length, shortest and longest included. Where too
few would be left, lengths and the window are divided by a power of two, which the name tells. Cases
of a few long sequences, and block-sparse ones, keep two key heads. Cases for measuring
alone follow: batches of equal and of uniformly distributed lengths with the same number of
query-key pairs, fp32 and bf16, and one batch full of empty sequences.
"""

from __future__ import annotations

import argparse
import bisect
import json
import math
from pathlib import Path

import numpy as np

BENCH = Path(__file__).resolve().parent
MAX_PAIRS = 2.5e7  # query-key pairs before masking, times heads
MAX_ELEMENTS = 2**23  # of any one tensor
MIN_SEQUENCES = 8
MIN_SPARSE_SEQUENCES = 4  # few long ones: blocks keep their size, so lengths must keep theirs
MAX_SPARSE_DIVISOR = 2


def query_lengths(entry: dict) -> list[int]:
    if entry["broadcast_q"]:
        return [entry["q_length"]] * len(entry["kv_lengths"])
    return entry.get("q_lengths", entry["kv_lengths"])


def pairs(entry: dict) -> int:
    """Query-key pairs before masking, times heads."""
    return sum(q * kv for q, kv in zip(query_lengths(entry), entry["kv_lengths"])) * entry["heads_q"]


def fits(entry: dict) -> bool:
    q_rows = sum(query_lengths(entry)) * entry["heads_q"]
    kv_rows = sum(entry["kv_lengths"]) * entry["heads_kv"]
    return pairs(entry) <= MAX_PAIRS and max(q_rows, kv_rows) * entry["head_dim"] <= MAX_ELEMENTS


def divided(entry: dict, divisor: int) -> dict:
    """All lengths and the window divided, rounded up."""
    def divide(length: int) -> int:
        return -(-length // divisor) if length >= 0 else length

    result = dict(entry, name=f"cpu-{entry['name']}" + (f"-div{divisor}" if divisor > 1 else ""))
    for key in ("kv_lengths", "q_lengths", "window"):
        if key in entry:
            result[key] = [divide(length) for length in entry[key]]
    if "q_length" in entry:
        result["q_length"] = divide(entry["q_length"])
    return result


def sampled(entry: dict, count: int) -> dict:
    """`count` sequences, evenly spaced in the order of length, in the order of the batch."""
    order = sorted(range(len(entry["kv_lengths"])),
                   key=lambda b: (entry["kv_lengths"][b], query_lengths(entry)[b]))
    picks = sorted(order[round(p)] for p in np.linspace(0, len(order) - 1, count))
    result = dict(entry)
    for key in ("kv_lengths", "q_lengths"):
        if key in entry:
            result[key] = [entry[key][b] for b in picks]
    return result


def halved_heads(entry: dict) -> dict | None:
    if entry["heads_kv"] <= 2 or entry["heads_kv"] % 2:
        return None
    return dict(entry, heads_q=entry["heads_q"] // 2, heads_kv=entry["heads_kv"] // 2)


def largest_sample(entry: dict, at_least: int) -> dict | None:
    """The sample with the most sequences, at least `at_least`, that fits."""
    counts = range(at_least, len(entry["kv_lengths"]) + 1)
    too_many = bisect.bisect_left(counts, True, key=lambda count: not fits(sampled(entry, count)))
    return sampled(entry, counts[too_many - 1]) if too_many else None


def scaled(entry: dict) -> dict:
    sparse = "block_sparse" in entry
    at_least = min(MIN_SPARSE_SEQUENCES if sparse else MIN_SEQUENCES, len(entry["kv_lengths"]))
    few = sparse or len(entry["kv_lengths"]) < MIN_SEQUENCES
    fewer_heads = halved_heads(entry) if few else None
    while fewer_heads:
        entry, fewer_heads = fewer_heads, halved_heads(fewer_heads)
    for divisor in (1, 2, 4, 8, 16, 32):
        if sparse and divisor > MAX_SPARSE_DIVISOR:
            break
        sample = largest_sample(divided(entry, divisor), at_least)
        if sample:
            return sample
    raise SystemExit(f"{entry['name']} does not come down to {MAX_PAIRS:.0e} pairs")


def plain_entry(name: str, dtype: str, lengths: list[int], **more) -> dict:
    return {"name": name, "dtype": dtype, "heads_q": 4, "heads_kv": 4, "head_dim": 128,
            "causal": False, "window": [-1, -1], "broadcast_q": False, "kv_lengths": lengths,
            **more}


def uniform_lengths(longest: int, total: int) -> list[int]:
    """Uniform draws from 1 to `longest` whose squares add up to `total`, but for the remainder that
    the last, not drawn, leaves."""
    generator = np.random.Generator(np.random.PCG64(1))
    lengths: list[int] = []
    left = total
    while (length := int(generator.integers(1, longest + 1))) ** 2 <= left:
        lengths.append(length)
        left -= length**2
    return lengths + [math.isqrt(left)] if left else lengths


def measuring_cases() -> list[dict]:
    equal = [1024] * 8
    jagged = uniform_lengths(1024, sum(length**2 for length in equal))
    return [plain_entry(f"{name}-L1024-{dtype}", dtype, lengths)
            for name, lengths in (("equal", equal), ("jagged", jagged))
            for dtype in ("fp32", "bf16")]


def case_of_empty_sequences() -> dict:
    """Empty on either side or both, and more queries than keys: causal rows that see nothing."""
    return plain_entry("cpu-empty-causal", "bf16", [0, 70, 0, 33, 1, 0, 5, 256, 0],
                       q_lengths=[0, 0, 19, 80, 4, 0, 64, 130, 0], causal=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, default=BENCH / "suite.json",
                        help="suite to scale down (default: %(default)s)")
    parser.add_argument("-o", "--output", type=Path, default=BENCH / "suite_cpu.json",
                        help="file to write (default: %(default)s)")
    parser.add_argument("--smallest", type=int, metavar="N",
                        help="write the N cases with the fewest pairs only")
    args = parser.parse_args()
    entries = [scaled(entry) for entry in json.loads(args.suite.read_text())]
    entries += measuring_cases() + [case_of_empty_sequences()]
    if args.smallest:
        entries = sorted(entries, key=pairs)[:args.smallest]
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
    args.output.write_text(f"[{lines}]\n")
    print(f"{args.output}: {len(entries)} cases")


if __name__ == "__main__":
    main()
