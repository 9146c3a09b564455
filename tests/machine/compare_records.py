#!/usr/bin/env python3
"""Compares what two machines computed: files that JFA_RECORD named (see hundred_inputs.hpp).

Usage: compare_records.py A B

16-bit values may differ by one unit in the last place (each machine rounds a sum of its own order);
fp32 values by 1e-5 of their size or of 1. Prints what was compared and fails on anything further off.
"""

import array
import pathlib
import struct
import sys


def read(path):
    data = pathlib.Path(path).read_bytes()
    at = 0
    while at < len(data):
        size, count = struct.unpack_from("<II", data, at)
        at += 8
        yield size, array.array({2: "H", 4: "f"}[size], data[at : at + size * count])
        at += size * count


def ordinal(bits):
    """Neighbours in value are neighbours in number."""
    return -(bits & 0x7FFF) if bits & 0x8000 else bits


def main():
    records = [list(read(path)) for path in sys.argv[1:3]]
    if len(records[0]) != len(records[1]) or not records[0]:
        sys.exit(f"{len(records[0])} outputs against {len(records[1])}")
    values = equal = 0
    worst = {2: 0, 4: 0.0}
    for (size, a), (other_size, b) in zip(*records):
        if size != other_size or len(a) != len(b):
            sys.exit("outputs of different shape")
        for x, y in zip(a, b):
            values += 1
            equal += x == y
            if size == 2:
                distance = abs(ordinal(x) - ordinal(y))
            else:
                distance = abs(x - y) / max(1.0, abs(x), abs(y))
            worst[size] = max(worst[size], distance) if distance == distance else float("inf")
    print(f"{len(records[0])} outputs, {values} values, {equal} equal to the bit; largest difference "
          f"{worst[2]} units in the last place of 16 bits, {worst[4]:.1e} of fp32 values")
    sys.exit(1 if worst[2] > 1 or worst[4] > 1e-5 else 0)


if __name__ == "__main__":
    main()
