#!/usr/bin/env python3
"""Times PyTorch's CPU attention on the cases of a suite, and the jfa tool beside it.

PyTorch's scaled_dot_product_attention is called in two ways: `loop`, once a sequence on packed
rows, and `padded`, once on the batch padded to its longest sequence, with a mask. Padding the
inputs and making masks are not timed, and causal cases without other masks use is_causal, all in
PyTorch's favour. Backward is autograd on the graph of one forward call. GFLOP/s counts unmasked
pairs alone, backward 2.5 times the forward, so `padded` gets no credit for padding.

With --jfa the tool runs each case after PyTorch did, on as many threads; both take turns for
--rounds rounds, and of each the best round counts, so that both see the same machine. Times are the
best of several calls; the JSON has the median of that round too, and the load average at the start:
any other work on the machine spoils the figures, PyTorch's most.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

import jagged_suite
import reference
import results_file
from jagged_suite import Case
from torch_attention import DTYPES, WAYS, Way

BENCH = Path(__file__).resolve().parent
DIRECTIONS = ("fwd", "bwd")
MAX_ERROR = {"fp32": 2e-6, "bf16": 2e-2}  # relative, of out, dq, dk, dv, for --check


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, default=BENCH / "suite_cpu.json",
                        help="(default: %(default)s)")
    parser.add_argument("--case", default="", metavar="SUBSTR", help="only cases so named")
    parser.add_argument("--dtype", choices=DTYPES, help="instead of each case's own")
    parser.add_argument("--threads", type=int, default=2, help="(default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.5,
                        help="at most this long for one timing, at least 3 calls "
                        "(default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=2, help="(default: %(default)s)")
    parser.add_argument("--jfa", type=Path, metavar="PROGRAM", help="the jfa tool to time as well")
    parser.add_argument("--check", action="store_true",
                        help="first compare PyTorch's results with fp64, stop where they differ")
    parser.add_argument("--json", type=Path, metavar="OUT", help="file to write")
    return parser.parse_args()


def timed(call: Callable[[], object], seconds: float) -> list[float]:
    """Milliseconds of each of several calls after one to warm up."""
    call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 100):
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e3)
    return times


def time_torch(way: Way, seconds: float) -> dict[str, list[float]]:
    with torch.no_grad():
        forward = timed(way.forward, seconds)
    out = way.forward()
    return {"fwd": forward, "bwd": timed(lambda: way.backward(out), seconds)}


def row(case: Case, dtype: str, engine: str, direction: str, ms: float, ms_min: float) -> dict:
    work = jagged_suite.flops(case) * (jagged_suite.BACKWARD_COST if direction == "bwd" else 1)
    return {"name": case.name, "direction": direction, "device": "cpu", "engine": engine,
            "dtype": dtype, "ms": round(ms, 4), "ms_min": round(ms_min, 4),
            "gflops": round(work / ms_min / 1e6, 2)}


def torch_rows(case: Case, dtype: str, args: argparse.Namespace) -> list[dict]:
    arrays = jagged_suite.inputs(case)
    want = reference.attention(case, arrays) if args.check else None
    rows = []
    for name, make in WAYS.items():
        way = make(case, arrays, DTYPES[dtype])
        if want:
            errors = reference.relative_errors(way.results(), want)
            if not max(errors.values()) < MAX_ERROR[dtype]:
                raise SystemExit(f"{case.name}: PyTorch, {name}, is wrong: {errors}")
        for direction, times in time_torch(way, args.seconds).items():
            rows.append(row(case, dtype, f"torch-{name}", direction, statistics.median(times),
                            min(times)))
    return rows


def jfa_rows(case: Case, entry: dict, dtype: str, args: argparse.Namespace) -> list[dict]:
    """Times of the tool, which is given a suite of this one case."""
    with tempfile.TemporaryDirectory() as folder:
        suite, output = Path(folder) / "suite.json", Path(folder) / "out.json"
        suite.write_text(json.dumps([dict(entry, dtype=dtype)]))
        command = [args.jfa, "bench", "--suite", suite, "--case", case.name, "--device", "cpu",
                   "--threads", str(args.threads), "--direction", ",".join(DIRECTIONS),
                   "--json", output]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{case.name}: {args.jfa} bench failed: {done.stderr or done.stdout}")
        cases = json.loads(output.read_text())["cases"]
    return [row(case, dtype, "jfa", found["direction"], found["ms"], found["ms_min"])
            for found in cases]


def best_rows(case: Case, entry: dict, args: argparse.Namespace) -> list[dict]:
    """The fastest round of each engine and direction."""
    dtype = args.dtype or case.dtype
    best: dict[tuple[str, str], dict] = {}
    for _ in range(args.rounds):
        rows = torch_rows(case, dtype, args)
        if args.jfa:
            rows += jfa_rows(case, entry, dtype, args)
        for each in rows:
            key = (each["engine"], each["direction"])
            if key not in best or each["ms_min"] < best[key]["ms_min"]:
                best[key] = each
    return list(best.values())


def with_sums(rows: list[dict]) -> dict[str, dict[str, dict]]:
    """Rows of a case by direction and engine, fwd+bwd added up as a third direction."""
    found: dict[str, dict[str, dict]] = {direction: {} for direction in DIRECTIONS}
    for each in rows:
        found[each["direction"]][each["engine"]] = each
    found["both"] = {}
    for engine, forward in found["fwd"].items():
        backward = found["bwd"][engine]
        ms_min = forward["ms_min"] + backward["ms_min"]
        work = forward["gflops"] * forward["ms_min"] + backward["gflops"] * backward["ms_min"]
        found["both"][engine] = {"ms_min": ms_min, "gflops": work / ms_min}
    return found


def print_head(jfa: bool) -> None:
    columns = "".join(f"{engine:>12}{'GF/s':>8}" for engine in ("loop ms", "padded ms"))
    ours = f"{'jfa ms':>12}{'GF/s':>8}{'torch/jfa':>11}" if jfa else ""
    print(f"{'case':36}{'dtype':>6}{'dir':>5}{columns}{ours}")


def print_case(rows: list[dict]) -> None:
    for direction, engines in with_sums(rows).items():
        line = f"{rows[0]['name']:36}{rows[0]['dtype']:>6}{direction:>5}"
        line += "".join(f"{each['ms_min']:12.3f}{each['gflops']:8.1f}" for each in engines.values())
        if "jfa" in engines:
            best = min(engines[f"torch-{name}"]["ms_min"] for name in WAYS)
            line += f"{best / engines['jfa']['ms_min']:11.2f}"
        print(line, flush=True)


def main() -> None:
    args = parse_args()
    torch.set_num_threads(args.threads)
    load = round(os.getloadavg()[0], 2)
    print_head(jfa=args.jfa is not None)
    rows: list[dict] = []
    for entry in jagged_suite.read_entries(args.suite, args.case):
        rows += best_rows(jagged_suite.parse_case(entry), entry, args)
        print_case([each for each in rows if each["name"] == entry["name"]])
    if args.json:
        results_file.write(args.json, results_file.header(suite=args.suite.name, load=load), rows)


if __name__ == "__main__":
    main()
