#!/usr/bin/env python3
"""Writes wgmma.hpp beside this script: wgmma m64nNk16 with fp32 accumulators, for every N.

Usage: generate_wgmma.py [--check]; --check fails when wgmma.hpp is not what would be written.
"""

import pathlib
import sys

HEADER = """\
// Written by generate_wgmma.py; do not edit.
// wgmma.mma_async m64nNk16, bf16 or fp16 to fp32, for every N: overloads by the accumulator's size.
// https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions-wgmma-mma
#pragma once

#include "machine/types.hpp"

// clang-format off
namespace jfa::inline JFA_BACKEND {

// The last arguments number the operands that follow the N / 2 accumulators.
#define JFA_WGMMA_SS(N, TYPE, A0, A1, B0, B1, P, TA, TB)                             \\
  asm volatile("{.reg .pred p; .reg .b64 a, b; mov.b64 a, {%" #A0 ", %" #A1 "}; "    \\
               "mov.b64 b, {%" #B0 ", %" #B1 "}; setp.ne.b32 p, %" #P ", 0; "        \\
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " "   \\
               JFA_LIST_##N ", a, b, p, 1, 1, %" #TA ", %" #TB ";}"                  \\
               : JFA_OUT_##N                                                         \\
               : "r"(a.low), "r"(a.high), "r"(b.low), "r"(b.high), "r"(accumulate),  \\
                 "n"(int{S.transpose_a}), "n"(int{S.transpose_b}))
#define JFA_WGMMA_RS(N, TYPE, A0, A1, A2, A3, B0, B1, P, TB)                         \\
  asm volatile("{.reg .pred p; .reg .b64 b; mov.b64 b, {%" #B0 ", %" #B1 "}; "       \\
               "setp.ne.b32 p, %" #P ", 0; "                                         \\
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " "   \\
               JFA_LIST_##N ", {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, b, p, "     \\
               "1, 1, %" #TB ";}"                                                    \\
               : JFA_OUT_##N                                                         \\
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.low), "r"(b.high), \\
                 "r"(accumulate), "n"(int{S.transpose_b}))
"""

FOOTER = """
#undef JFA_WGMMA_SS
#undef JFA_WGMMA_RS

}  // namespace jfa::inline JFA_BACKEND
// clang-format on
"""


def function(kind, a_type, extra, n):
    d = n // 2
    numbers = ", ".join(str(i) for i in range(d, d + extra))
    lines = [
        "template <MmaShape S>",
        f"JFA_DEVICE void wgmma_k16(float (&d)[{d}], {a_type}, MmaDescriptor b, int accumulate) {{",
    ]
    for keyword, element in (("if constexpr (S.type == ElementType::Bf16)", "bf16"), ("else", "f16")):
        lines.append(f'  {keyword} JFA_WGMMA_{kind}({n}, "{element}", {numbers});')
    lines.append("}")
    return lines


def header():
    parts = [HEADER]
    for n in range(8, 257, 8):
        d = n // 2
        parts.append("")
        parts.append(f'#define JFA_LIST_{n} "{{{", ".join(f"%{i}" for i in range(d))}}}"')
        parts.append(f"#define JFA_OUT_{n} {', '.join(f'{chr(34)}+f{chr(34)}(d[{i}])' for i in range(d))}")
        parts += function("SS", "MmaDescriptor a", 7, n)
        parts += function("RS", "const std::uint32_t* a", 8, n)
        parts += [f"#undef JFA_LIST_{n}", f"#undef JFA_OUT_{n}"]
    parts.append(FOOTER)
    return "\n".join(parts)


def main():
    path = pathlib.Path(__file__).with_name("wgmma.hpp")
    if "--check" in sys.argv[1:]:
        if path.read_text() != header():
            sys.exit(f"{path} is out of date: run {pathlib.Path(__file__).name}")
        return
    path.write_text(header())


if __name__ == "__main__":
    main()
