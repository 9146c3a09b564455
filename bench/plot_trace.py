#!/usr/bin/env python3
"""Draws what the warps of one block did from a Perfetto trace: a lane a warp, a slice a wait.

Traces come from the programs forward_trace and samples_trace. Between waits a warp computes or
issues. (`jfa trace --svg` draws the emulator's.)
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

LEFT, TOP, LANE, GAP = 130, 30, 18, 6
COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5",
           "#9c6b4e", "#9498a0", "#222222", "#c2b280", "#006d5b")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path, help="Perfetto JSON")
    parser.add_argument("svg", type=Path, help="file to write")
    parser.add_argument("--block", type=int, default=0, help="(default: %(default)s)")
    parser.add_argument("--warps", default="0,1,2,3,4,8,12", help="(default: %(default)s)")
    parser.add_argument("--begin", type=float, default=0, metavar="US",
                        help="microseconds from the trace's start (default: %(default)s)")
    parser.add_argument("--length", type=float, default=20, metavar="US",
                        help="microseconds to draw (default: %(default)s)")
    parser.add_argument("--width", type=int, default=1000, help="pixels (default: %(default)s)")
    return parser.parse_args()


def ring_of(name: str) -> str:
    return name.split("[")[0]


def roles_of(events: list[dict], block: int) -> dict[int, str]:
    """Each warp's innermost role."""
    roles = sorted((e for e in events if e.get("cat") == "role" and e["pid"] == block),
                   key=lambda e: -e["dur"])
    return {e["tid"]: f'{e["name"]}, warp {e["tid"]}' for e in roles}


def slices_of(events: list[dict], block: int, warps: list[int], begin: float,
              end: float) -> list[dict]:
    return [e for e in events
            if e["ph"] == "X" and e.get("cat") != "role" and e["pid"] == block and
            e["tid"] in warps and e["ts"] < end and e["ts"] + e["dur"] > begin]


def draw(args: argparse.Namespace, events: list[dict]) -> str:
    warps = [int(warp) for warp in args.warps.split(",")]
    labels = roles_of(events, args.block)
    end = args.begin + args.length
    slices = slices_of(events, args.block, warps, args.begin, end)
    names = sorted({ring_of(e["name"]) for e in slices})
    colour = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    scale = (args.width - LEFT - 10) / args.length
    bottom = TOP + len(warps) * (LANE + GAP)
    parts = []
    for lane, warp in enumerate(warps):
        y = TOP + lane * (LANE + GAP)
        parts.append(f'<text x="4" y="{y + 13}">{labels.get(warp, f"warp {warp}")}</text>')
        parts.append(f'<rect x="{LEFT}" y="{y}" width="{args.width - LEFT - 10}" '
                     f'height="{LANE}" fill="#eee"/>')
        for e in (e for e in slices if e["tid"] == warp):
            first, last = max(e["ts"], args.begin), min(e["ts"] + e["dur"], end)
            parts.append(f'<rect x="{LEFT + (first - args.begin) * scale:.1f}" y="{y}" '
                         f'width="{max((last - first) * scale, 0.5):.1f}" height="{LANE}" '
                         f'fill="{colour[ring_of(e["name"])]}"><title>{e["name"]}</title></rect>')
    for tick in range(0, int(args.length) + 1, max(1, round(args.length / 7))):
        x = LEFT + tick * scale
        parts.append(f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{bottom}" '
                     'stroke="#bbb" stroke-width="0.5"/>')
        parts.append(f'<text x="{x:.1f}" y="{TOP - 10}" text-anchor="middle">{tick} us</text>')
    x, y = LEFT, bottom + 8
    for name in names:
        width = 36 + 7 * len(name)
        if x + width > args.width:
            x, y = LEFT, y + 18
        parts.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colour[name]}"/>')
        parts.append(f'<text x="{x + 16}" y="{y + 10}">{name}</text>')
        x += width
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{args.width}" height="{y + 20}" '
            'font-family="sans-serif" font-size="11">\n' + "\n".join(parts) + "\n</svg>\n")


def main() -> None:
    args = parse_args()
    events = json.loads(args.trace.read_text())["traceEvents"]
    args.svg.write_text(draw(args, events))


if __name__ == "__main__":
    main()
