#!/usr/bin/env python3
"""Draws a result file of torch_cpu.py: useful GFLOP/s of a training step (forward and backward), JFA
beside PyTorch, a group of bars a case."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import bars

SERIES = {"jfa": ("JFA", "#1b6ac9"), "torch-loop": ("PyTorch, a call a sequence", "#e08214"),
          "torch-padded": ("PyTorch, padded and masked", "#f3c583")}


def step_rates(cases: list[dict]) -> dict[tuple[str, str], dict[str, float]]:
    """GFLOP/s of forward plus backward by case and dtype, then engine."""
    work: dict[tuple[str, str], dict[str, list[float]]] = {}
    for case in cases:
        sums = work.setdefault((case["name"], case["dtype"]), {}).setdefault(case["engine"], [0, 0])
        sums[0] += case["gflops"] * case["ms_min"]
        sums[1] += case["ms_min"]
    return {case: {engine: flops / ms for engine, (flops, ms) in engines.items()}
            for case, engines in work.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--cases", nargs="+", metavar="NAME", help="which, in order (default: all)")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="SVG")
    args = parser.parse_args()
    results = json.loads(args.results.read_text())
    rates = step_rates(results["cases"])
    if args.cases:
        rates = {key: rates[key] for name in args.cases for key in rates if key[0] == name}
    header = results["header"]
    args.output.write_text(bars.draw(
        "Useful GFLOP/s of a training step (forward + backward), higher is better",
        f"{header['processor']}, {header['threads']} threads, PyTorch {header['torch']}, "
        f"{header['date']}, commit {header['commit']}", SERIES,
        {f"{name}, {dtype}": engines for (name, dtype), engines in rates.items()}))


if __name__ == "__main__":
    main()
