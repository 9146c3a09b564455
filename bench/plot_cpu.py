#!/usr/bin/env python3
"""Draws a result file of torch_cpu.py: useful GFLOP/s of a training step (forward and backward), JFA
beside PyTorch, a group of bars a case."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

SERIES = {"jfa": ("JFA", "#1b6ac9"), "torch-loop": ("PyTorch, a call a sequence", "#e08214"),
          "torch-padded": ("PyTorch, padded and masked", "#f3c583")}
LABEL_WIDTH, PLOT_WIDTH, BAR, GAP, TOP = 250, 520, 9, 10, 74


def step_rates(cases: list[dict]) -> dict[tuple[str, str], dict[str, float]]:
    """GFLOP/s of forward plus backward by case and dtype, then engine."""
    work: dict[tuple[str, str], dict[str, list[float]]] = {}
    for case in cases:
        sums = work.setdefault((case["name"], case["dtype"]), {}).setdefault(case["engine"], [0, 0])
        sums[0] += case["gflops"] * case["ms_min"]
        sums[1] += case["ms_min"]
    return {case: {engine: flops / ms for engine, (flops, ms) in engines.items()}
            for case, engines in work.items()}


def text(x: float, y: float, content: str, size: int = 11, anchor: str = "start") -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="#222">{content}</text>')


def bar(x: float, y: float, width: float, color: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BAR}" fill="{color}"/>'


def draw(header: dict, rates: dict[tuple[str, str], dict[str, float]]) -> str:
    scale = PLOT_WIDTH / max(max(engines.values()) for engines in rates.values())
    group = BAR * len(SERIES) + GAP
    height = TOP + group * len(rates) + 8
    parts = [text(8, 20, "Useful GFLOP/s of a training step (forward + backward), higher is better", 14),
             text(8, 38, f"{header['processor']}, {header['threads']} threads, "
                  f"PyTorch {header['torch']}, {header['date']}, commit {header['commit']}")]
    x = 8
    for name, color in SERIES.values():
        parts += [bar(x, 50, 14, color), text(x + 19, 59, name)]
        x += 35 + 6 * len(name)
    y = TOP
    for (name, dtype), engines in rates.items():
        parts.append(text(LABEL_WIDTH - 8, y + BAR * len(SERIES) / 2 + 4, f"{name}, {dtype}", 11, "end"))
        for engine, (_, color) in SERIES.items():
            width = engines[engine] * scale
            parts += [bar(LABEL_WIDTH, y, width, color),
                      text(LABEL_WIDTH + width + 4, y + BAR - 1, f"{engines[engine]:.0f}", 9)]
            y += BAR
        y += GAP
    width = LABEL_WIDTH + PLOT_WIDTH + 40
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif">\n'
            f'<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n")


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
    args.output.write_text(draw(results["header"], rates))


if __name__ == "__main__":
    main()
