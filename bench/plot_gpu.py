#!/usr/bin/env python3
"""Draws one direction of a result file of `jfa bench --device cuda`: useful TFLOP/s beside those of
PyTorch's varlen attention in the same run (torch_varlen.py) and of the best peer of a targets file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import bars

SERIES = {"jfa": ("JFA", "#1b6ac9"), "torch": ("PyTorch varlen, same run", "#e08214"),
          "best": ("best peer of the targets, in a run of its own", "#b9b9b9"),
          "floor": ("what the card allows", "#e4e4e4")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--torch", type=Path, help="result of torch_varlen.py in the same run")
    parser.add_argument("--targets", type=Path, required=True)
    parser.add_argument("--direction", choices=("fwd", "bwd"), default="fwd")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="SVG")
    args = parser.parse_args()

    def times(path: Path, key: str) -> dict[str, float]:
        return {case["name"]: case[key] for case in json.loads(path.read_text())["cases"]
                if case.get("direction", "fwd") == args.direction and case.get(key)}

    results = json.loads(args.results.read_text())
    peers = {"best": times(args.targets, "best_ms"), "floor": times(args.results, "floor_ms")}
    if args.torch:
        peers["torch"] = times(args.torch, "ms")
    series = {key: SERIES[key] for key in SERIES if key == "jfa" or key in peers}
    groups = {}
    for case in results["cases"]:
        name = case["name"]
        if case["direction"] != args.direction:
            continue
        work = case["tflops"] * case["ms"]
        groups[name] = {"jfa": case["tflops"]} | {
            peer: work / ms[name] for peer, ms in peers.items() if name in ms}
    header = results["header"]
    direction = "forward" if args.direction == "fwd" else "backward"
    args.output.write_text(bars.draw(
        f"Useful TFLOP/s, {direction}, medians, higher is better",
        f"{header['card']}, driver {header['driver']}, {header['date'][:10]}, "
        f"commit {header['commit']}", series, groups))


if __name__ == "__main__":
    main()
