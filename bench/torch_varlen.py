#!/usr/bin/env python3
"""Times PyTorch's own varlen attention on a GPU, beside its figures in a file of targets.

torch.nn.attention.varlen.varlen_attn (FlashAttention 2) on the cases of a suite: run beside
`jfa bench` on the same machine it shows whether the card is as fast as the one that the targets
were measured on. Cases that are more than 3% off are marked, and are best run again.

With broadcast_q the time holds what such a call needs: expanding Q before and, backward, summing
dQ after. Block-sparse cases are left out: varlen_attn takes no such mask. Backward is autograd on
the graph of one forward call. Inputs are random, and so many that the L2 cannot hold them; times
are by CUDA events, medians of several calls.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch.nn.attention.varlen import varlen_attn

import jagged_suite
import results_file
from jagged_suite import Case

BENCH = Path(__file__).resolve().parent
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
FIGURE = "fa2_torch_ms"  # this call's column in the targets
TOLERANCE = 0.03


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, default=BENCH / "suite.json",
                        help="(default: %(default)s)")
    parser.add_argument("--targets", type=Path, default=BENCH / "targets.json",
                        help="(default: %(default)s)")
    parser.add_argument("--case", default="", metavar="SUBSTR", help="only cases so named")
    parser.add_argument("--direction", choices=("fwd", "bwd", "fwd,bwd"), default="fwd",
                        help="(default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.2,
                        help="at most this long for one timing, at least 10 calls "
                        "(default: %(default)s)")
    parser.add_argument("--rest", type=float, default=0,
                        help="idle so many times a call's time after each, as jfa bench does "
                        "(default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="file to write")
    return parser.parse_args()


def offsets(lengths: tuple[int, ...]) -> torch.Tensor:
    total = torch.zeros(len(lengths) + 1, dtype=torch.int32)
    total[1:] = torch.tensor(lengths).cumsum(0)
    return total.cuda()


class Call:
    """One case's tensors and the call on them."""

    def __init__(self, case: Case, backward: bool):
        self.case = case
        kv_rows = sum(case.kv_lengths)
        self.q, self.k, self.v = (
            torch.randn(rows, heads, case.head_dim, dtype=DTYPES[case.dtype],
                        device="cuda").requires_grad_(backward)
            for rows, heads in ((case.q_rows, case.heads_q), (kv_rows, case.heads_kv),
                                (kv_rows, case.heads_kv)))
        self.q_offsets, self.kv_offsets = offsets(case.q_lengths), offsets(case.kv_lengths)
        self.out = self.forward() if backward else None
        self.dout = torch.randn_like(self.out) if backward else None

    def bytes(self) -> int:
        return sum(t.numel() * t.element_size() for t in (self.q, self.k, self.v))

    def forward(self) -> torch.Tensor:
        case = self.case
        q = self.q
        if case.broadcast_q:
            q = q.expand(len(case.q_lengths), *q.shape).reshape(-1, *q.shape[1:])
        return varlen_attn(q, self.k, self.v, self.q_offsets, self.kv_offsets,
                           max(case.q_lengths), max(case.kv_lengths),
                           window_size=(case.left, case.right))

    def backward(self) -> tuple[torch.Tensor, ...]:
        return torch.autograd.grad(self.out, (self.q, self.k, self.v), self.dout,
                                   retain_graph=True)


def timed(calls: list[Callable[[], object]], seconds: float, rest: float) -> list[float]:
    """Milliseconds of each of several calls, taking turns, after a few to warm up."""
    def run(count: int) -> list[float]:
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
        marks[0].record()
        for i in range(count):
            calls[i % len(calls)]()
            marks[i + 1].record()
        torch.cuda.synchronize()
        return [a.elapsed_time(b) for a, b in zip(marks, marks[1:])]

    typical = statistics.median(run(4))
    count = min(max(int(1e3 * seconds / typical), 10), 400)
    run(count // 5 + 1)
    if rest == 0:
        return run(count + 1)[1:]
    times: list[float] = []
    while len(times) < count:
        times.append(run(2)[1])
        time.sleep(1e-3 * rest * times[-1])
    return times


def make_calls(case: Case, backward: bool) -> list[Call]:
    calls = [Call(case, backward)]
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    while sum(call.bytes() for call in calls) <= 2 * l2:
        calls.append(Call(case, backward))
    return calls


def time_case(case: Case, direction: str, seconds: float, rest: float) -> list[float]:
    if direction == "fwd":
        with torch.no_grad():
            return timed([call.forward for call in make_calls(case, backward=False)],
                         seconds, rest)
    return timed([call.backward for call in make_calls(case, backward=True)], seconds, rest)


def read_figures(path: Path) -> dict[tuple[str, str], float]:
    return {(entry["name"], entry["direction"]): entry[FIGURE]
            for entry in json.loads(path.read_text())["cases"] if FIGURE in entry}


def result(case: Case, direction: str, times: list[float], figure: float | None) -> dict:
    work = jagged_suite.flops(case) * (jagged_suite.BACKWARD_COST if direction == "bwd" else 1)
    ms = statistics.median(times)
    row = {"name": case.name, "direction": direction, "device": "cuda:0", "engine": "torch-varlen",
           "ms": round(ms, 4), "ms_min": round(min(times), 4), "repeats": len(times),
           "tflops": round(work / ms / 1e9, 1)}
    if figure:
        row |= {FIGURE: figure, "off": round(ms / figure - 1, 4)}
    return row


def describe(row: dict) -> str:
    line = f"{row['name']:26}{row['direction']:>4}{row['ms']:10.4f}{row['ms_min']:10.4f}"
    line += f"{row['tflops']:9.1f}"
    if "off" not in row:
        return line
    mark = "  run again" if abs(row["off"]) > TOLERANCE else ""
    return line + f"{row[FIGURE]:12.4f}{100 * row['off']:8.1f}%{mark}"


def driver() -> str:
    version = Path("/sys/module/nvidia/version")
    return version.read_text().strip() if version.exists() else "unknown"


def main() -> None:
    args = parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("torch_varlen.py: PyTorch sees no GPU")
    figures = read_figures(args.targets)
    print(f"{torch.cuda.get_device_name(0)}, driver {driver()}, PyTorch {torch.__version__}")
    print(f"{'case':26}{'dir':>4}{'ms':>10}{'min ms':>10}{'TFLOP/s':>9}{'target ms':>12}{'off':>9}")
    rows: list[dict] = []
    for entry in jagged_suite.read_entries(args.suite, args.case):
        case = jagged_suite.parse_case(entry)
        if case.block_sparse:
            continue
        for direction in args.direction.split(","):
            times = time_case(case, direction, args.seconds, args.rest)
            rows.append(result(case, direction, times, figures.get((case.name, direction))))
            print(describe(rows[-1]), flush=True)
            torch.cuda.empty_cache()
    far = [row for row in rows if abs(row.get("off", 0)) > TOLERANCE]
    print(f"{len(far)} of {len(rows)} are more than {TOLERANCE:.0%} off their target")
    if args.json:
        head = results_file.header(card=torch.cuda.get_device_name(0), driver=driver(),
                                   suite=args.suite.name)
        results_file.write(args.json, head, rows)


if __name__ == "__main__":
    main()
