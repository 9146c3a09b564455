#!/usr/bin/env python3
"""Draws a result file of dq_strategies: times as multiples of the library's, a group of bars a
case."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import bars

SERIES = {"contended": ("contended atomics", "#b9b9b9"),
          "copies": ("copies and a sum", "#e08214"),
          "copies, apart": ("copies, dQ by a kernel of its own", "#f4c27e"),
          "shares": ("shares: the library's", "#1b6ac9")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="SVG")
    args = parser.parse_args()

    results = json.loads(args.results.read_text())
    times: dict[str, dict[str, float]] = {}
    for case in results["cases"]:
        times.setdefault(case["name"], {})[case["strategy"]] = case["ms"]
    groups = {f"{name}, {ms['shares']:.2f} ms": {key: ms[key] / ms["shares"] for key in SERIES}
              for name, ms in times.items()}
    header = results["header"]
    args.output.write_text(bars.draw(
        "Backward with broadcast queries: time as a multiple of the library's, lower is better",
        f"{header['card']}, driver {header['driver']}, {header['date'][:10]}, "
        f"commit {header['commit']}", SERIES, groups, digits=2))


if __name__ == "__main__":
    main()
