#!/usr/bin/env python3
"""Measures how far PyTorch's bf16 attention is from fp64: the yardstick of our own bf16 errors.

For every case of a suite: inputs from a standard normal distribution, rounded to bf16 (NumPy,
seeded by the case's name: jagged_suite.inputs); out, dq, dk and dv of PyTorch's
scaled_dot_product_attention in bf16, by its autograd, on the CPU; the relative Frobenius error of
each against the formulas in fp64 on the same rounded inputs. Two ways are measured: `loop`, one
call a sequence, and `padded`, one masked call. With broadcast_q, q is expanded and autograd sums dq
over the batch in bf16.
"""

from __future__ import annotations

import argparse
import datetime
from pathlib import Path

import torch

import jagged_suite
import reference
import results_file
from torch_attention import DTYPES, WAYS

BENCH = Path(__file__).resolve().parent


def parse_args() -> argparse.Namespace:
    default_output = (BENCH / "results" /
                      f"{datetime.date.today().isoformat()}-torch-bf16-errors.json")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, default=BENCH / "suite_cpu.json",
                        help="(default: %(default)s)")
    parser.add_argument("--case", default="", metavar="SUBSTR", help="only cases so named")
    parser.add_argument("--dtype", choices=DTYPES, default="bf16",
                        help="what PyTorch computes in (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="(default: %(default)s)")
    parser.add_argument("--json", type=Path, default=default_output, metavar="OUT",
                        help="file to write (default: %(default)s)")
    return parser.parse_args()


def errors_of_case(case: jagged_suite.Case, dtype: str) -> list[dict]:
    arrays = jagged_suite.inputs(case)
    want = reference.attention(case, arrays)
    rows = []
    for name, way in WAYS.items():
        errors = reference.relative_errors(way(case, arrays, DTYPES[dtype]).results(), want)
        rows.append({"name": case.name, "way": name,
                     **{tensor: float(f"{error:.4g}") for tensor, error in errors.items()}})
    return rows


def main() -> None:
    args = parse_args()
    torch.set_num_threads(args.threads)
    rows: list[dict] = []
    print(f"{'case':36}{'way':>8}{'out':>10}{'dq':>10}{'dk':>10}{'dv':>10}")
    for entry in jagged_suite.read_entries(args.suite, args.case):
        for row in errors_of_case(jagged_suite.parse_case(entry), args.dtype):
            print(f"{row['name']:36}{row['way']:>8}"
                  + "".join(f"{row[tensor]:10.2e}" for tensor in ("out", "dq", "dk", "dv")),
                  flush=True)
            rows.append(row)
    head = results_file.header(suite=args.suite.name, dtype=args.dtype,
                               inputs="standard normal rounded to bf16",
                               error="relative Frobenius error against fp64")
    results_file.write(args.json, head, rows)


if __name__ == "__main__":
    main()
