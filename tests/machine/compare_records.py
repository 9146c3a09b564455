#!/usr/bin/env python3
"""Compares what two machines computed: files that JFA_RECORD named (see hundred_inputs.hpp).

Usage: compare_records.py A B

bf16 values may differ by one unit in the last place, each machine having rounded a sum of its own
order; or, where terms cancel, by a quarter of such a unit of the output's largest value. fp32 values
may differ by 1e-5 of their size or of 1. Prints what was compared and fails on anything further off.
"""

import array
import pathlib
import struct
import sys


def read(path):
    """Yields (bytes a value, values) for each output."""
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


def value(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


class Comparison:
    def __init__(self):
        self.values = self.equal = self.unit = self.cancelled = self.off = 0
        self.worst = 0.0  # of fp32 values

    def add_half(self, a, b):
        largest = max(abs(value(x)) for x in a)
        for x, y in zip(a, b):
            if abs(ordinal(x) - ordinal(y)) <= 1:
                self.unit += x != y
            elif abs(value(x) - value(y)) <= largest * 2.0**-10:
                self.cancelled += 1
            else:
                self.off += 1

    def add_single(self, a, b):
        for x, y in zip(a, b):
            difference = abs(x - y) / max(1.0, abs(x), abs(y))
            self.worst = max(self.worst, difference)
            self.off += not difference <= 1e-5

    def add(self, size, a, b):
        self.values += len(a)
        self.equal += sum(map(lambda x, y: x == y, a, b))
        (self.add_half if size == 2 else self.add_single)(a, b)


def main():
    first, second = (list(read(path)) for path in sys.argv[1:3])
    if len(first) != len(second) or not first:
        sys.exit(f"{len(first)} outputs against {len(second)}")
    total = Comparison()
    for (size, a), (other_size, b) in zip(first, second):
        if size != other_size or len(a) != len(b):
            sys.exit("outputs of different shape")
        total.add(size, a, b)
    print(
        f"{len(first)} outputs, {total.values} values, {total.equal} equal to the bit; bf16: "
        f"{total.unit} off by one unit, {total.cancelled} by less than a quarter unit of the largest; "
        f"fp32: at most {total.worst:.1e}; {total.off} further off"
    )
    sys.exit(1 if total.off else 0)


if __name__ == "__main__":
    main()
