#!/usr/bin/env python3
"""Writes tmem.hpp beside this script: tcgen05.ld and .st of shape 32x32b for 16 and 32 registers.

Usage: generate_tmem.py [--check]; --check fails when tmem.hpp is not what would be written.
"""

import pathlib
import sys

HEADER = """\
// Written by generate_tmem.py; do not edit.
// tcgen05.ld and tcgen05.st of shape 32x32b: register i of lane l is column i of tensor lane l.
// https://docs.nvidia.com/cuda/parallel-thread-execution/#tcgen05-instructions-tcgen05-ld
// https://docs.nvidia.com/cuda/parallel-thread-execution/#tcgen05-instructions-tcgen05-st
#pragma once

#include "machine/types.hpp"

// clang-format off
namespace jfa::inline JFA_BACKEND {

template <int N>
JFA_DEVICE void tmem_load_32x32b(float* r, std::uint32_t address);
template <int N>
JFA_DEVICE void tmem_store_32x32b(std::uint32_t address, const float* r);
template <int N>
JFA_DEVICE void tmem_store_32x32b(std::uint32_t address, const std::uint32_t* r);
"""

FOOTER = """
}  // namespace jfa::inline JFA_BACKEND
// clang-format on
"""


def operands(count, first, letter=""):
    return ", ".join(f"%{i}" for i in range(first, first + count)) if not letter else ", ".join(
        f'"{letter}"(r[{i}])' for i in range(count))


def load(n):
    return f"""
template <>
JFA_DEVICE void tmem_load_32x32b<{n}>(float* r, std::uint32_t address) {{
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x{n}.b32 {{{operands(n, 0)}}}, [%{n}];"
               : {operands(n, 0, "=f")}
               : "r"(address) : "memory");
}}
"""


def store(n, kind, letter):
    return f"""
template <>
JFA_DEVICE void tmem_store_32x32b<{n}>(std::uint32_t address, const {kind}* r) {{
  asm volatile("tcgen05.st.sync.aligned.32x32b.x{n}.b32 [%0], {{{operands(n, 1)}}};"
               : : "r"(address), {operands(n, 0, letter)} : "memory");
}}
"""


def main():
    parts = [load(n) + store(n, "float", "f") + store(n, "std::uint32_t", "r") for n in (16, 32)]
    text = HEADER + "".join(parts) + FOOTER
    path = pathlib.Path(__file__).resolve().parent / "tmem.hpp"
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if path.exists() and path.read_text() == text else f"{path} is out of date")
    path.write_text(text)


if __name__ == "__main__":
    main()
