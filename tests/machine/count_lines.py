#!/usr/bin/env python3
"""The machine layer's GPU side stays short: every line of its headers counts, comments and blanks too.

Not counted: what the scripts under generated/ write, and the emulator. Prints the lines of each file; fails at
LIMIT lines or more.

Usage: count_lines.py SRC
"""

import pathlib
import sys

LIMIT = 1700


def main():
    machine = pathlib.Path(sys.argv[1]) / "machine"
    files = sorted([*machine.glob("*.hpp"), *machine.glob("hopper/*"), *machine.glob("blackwell/*")])
    lines = {path: len(path.read_text().splitlines()) for path in files}
    for path, count in lines.items():
        print(f"{count:5} {path.relative_to(machine)}")
    total = sum(lines.values())
    print(f"{total:5} in all, of fewer than {LIMIT}")
    sys.exit(1 if not files or total >= LIMIT else 0)


if __name__ == "__main__":
    main()
