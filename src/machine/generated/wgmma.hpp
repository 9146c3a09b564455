// Written by generate_wgmma.py; do not edit.
// wgmma.mma_async m64nNk16, bf16 or fp16 to fp32, for every N: overloads by the accumulator's size.
// https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions-wgmma-mma
#pragma once

#include "machine/types.hpp"

// clang-format off
namespace jfa::inline JFA_BACKEND {

#define JFA_READ_WRITE(x) "+f"(x)
#define JFA_WRITE(x) "=f"(x)

// The last arguments number the operands that follow the N / 2 accumulators.
#define JFA_WGMMA_SS(N, TYPE, OUT, A0, A1, B0, B1, P, TA, TB)                        \
  asm volatile("{.reg .pred p; .reg .b64 a, b; mov.b64 a, {%" #A0 ", %" #A1 "}; "    \
               "mov.b64 b, {%" #B0 ", %" #B1 "}; setp.ne.b32 p, %" #P ", 0; "        \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " "   \
               JFA_LIST_##N ", a, b, p, 1, 1, %" #TA ", %" #TB ";}"                  \
               : JFA_OUT_##N(OUT)                                                    \
               : "r"(a.low), "r"(a.high), "r"(b.low), "r"(b.high), "r"(accumulate),  \
                 "n"(int{S.transpose_a}), "n"(int{S.transpose_b}))
#define JFA_WGMMA_RS(N, TYPE, OUT, A0, A1, A2, A3, B0, B1, P, TB)                    \
  asm volatile("{.reg .pred p; .reg .b64 b; mov.b64 b, {%" #B0 ", %" #B1 "}; "       \
               "setp.ne.b32 p, %" #P ", 0; "                                         \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " "   \
               JFA_LIST_##N ", {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, b, p, "     \
               "1, 1, %" #TB ";}"                                                    \
               : JFA_OUT_##N(OUT)                                                    \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.low), "r"(b.high), \
                 "r"(accumulate), "n"(int{S.transpose_b}))


#define JFA_LIST_8 "{%0, %1, %2, %3}"
#define JFA_OUT_8(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[4], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(8, "bf16", JFA_WRITE, 4, 5, 6, 7, 8, 9, 10);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(8, "bf16", JFA_READ_WRITE, 4, 5, 6, 7, 8, 9, 10);
  else if constexpr (S.fresh) JFA_WGMMA_SS(8, "f16", JFA_WRITE, 4, 5, 6, 7, 8, 9, 10);
  else JFA_WGMMA_SS(8, "f16", JFA_READ_WRITE, 4, 5, 6, 7, 8, 9, 10);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[4], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(8, "bf16", JFA_WRITE, 4, 5, 6, 7, 8, 9, 10, 11);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(8, "bf16", JFA_READ_WRITE, 4, 5, 6, 7, 8, 9, 10, 11);
  else if constexpr (S.fresh) JFA_WGMMA_RS(8, "f16", JFA_WRITE, 4, 5, 6, 7, 8, 9, 10, 11);
  else JFA_WGMMA_RS(8, "f16", JFA_READ_WRITE, 4, 5, 6, 7, 8, 9, 10, 11);
}
#undef JFA_LIST_8
#undef JFA_OUT_8

#define JFA_LIST_16 "{%0, %1, %2, %3, %4, %5, %6, %7}"
#define JFA_OUT_16(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[8], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(16, "bf16", JFA_WRITE, 8, 9, 10, 11, 12, 13, 14);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(16, "bf16", JFA_READ_WRITE, 8, 9, 10, 11, 12, 13, 14);
  else if constexpr (S.fresh) JFA_WGMMA_SS(16, "f16", JFA_WRITE, 8, 9, 10, 11, 12, 13, 14);
  else JFA_WGMMA_SS(16, "f16", JFA_READ_WRITE, 8, 9, 10, 11, 12, 13, 14);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[8], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(16, "bf16", JFA_WRITE, 8, 9, 10, 11, 12, 13, 14, 15);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(16, "bf16", JFA_READ_WRITE, 8, 9, 10, 11, 12, 13, 14, 15);
  else if constexpr (S.fresh) JFA_WGMMA_RS(16, "f16", JFA_WRITE, 8, 9, 10, 11, 12, 13, 14, 15);
  else JFA_WGMMA_RS(16, "f16", JFA_READ_WRITE, 8, 9, 10, 11, 12, 13, 14, 15);
}
#undef JFA_LIST_16
#undef JFA_OUT_16

#define JFA_LIST_24 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11}"
#define JFA_OUT_24(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[12], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(24, "bf16", JFA_WRITE, 12, 13, 14, 15, 16, 17, 18);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(24, "bf16", JFA_READ_WRITE, 12, 13, 14, 15, 16, 17, 18);
  else if constexpr (S.fresh) JFA_WGMMA_SS(24, "f16", JFA_WRITE, 12, 13, 14, 15, 16, 17, 18);
  else JFA_WGMMA_SS(24, "f16", JFA_READ_WRITE, 12, 13, 14, 15, 16, 17, 18);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[12], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(24, "bf16", JFA_WRITE, 12, 13, 14, 15, 16, 17, 18, 19);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(24, "bf16", JFA_READ_WRITE, 12, 13, 14, 15, 16, 17, 18, 19);
  else if constexpr (S.fresh) JFA_WGMMA_RS(24, "f16", JFA_WRITE, 12, 13, 14, 15, 16, 17, 18, 19);
  else JFA_WGMMA_RS(24, "f16", JFA_READ_WRITE, 12, 13, 14, 15, 16, 17, 18, 19);
}
#undef JFA_LIST_24
#undef JFA_OUT_24

#define JFA_LIST_32 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"
#define JFA_OUT_32(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[16], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(32, "bf16", JFA_WRITE, 16, 17, 18, 19, 20, 21, 22);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(32, "bf16", JFA_READ_WRITE, 16, 17, 18, 19, 20, 21, 22);
  else if constexpr (S.fresh) JFA_WGMMA_SS(32, "f16", JFA_WRITE, 16, 17, 18, 19, 20, 21, 22);
  else JFA_WGMMA_SS(32, "f16", JFA_READ_WRITE, 16, 17, 18, 19, 20, 21, 22);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[16], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(32, "bf16", JFA_WRITE, 16, 17, 18, 19, 20, 21, 22, 23);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(32, "bf16", JFA_READ_WRITE, 16, 17, 18, 19, 20, 21, 22, 23);
  else if constexpr (S.fresh) JFA_WGMMA_RS(32, "f16", JFA_WRITE, 16, 17, 18, 19, 20, 21, 22, 23);
  else JFA_WGMMA_RS(32, "f16", JFA_READ_WRITE, 16, 17, 18, 19, 20, 21, 22, 23);
}
#undef JFA_LIST_32
#undef JFA_OUT_32

#define JFA_LIST_40 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19}"
#define JFA_OUT_40(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[20], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(40, "bf16", JFA_WRITE, 20, 21, 22, 23, 24, 25, 26);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(40, "bf16", JFA_READ_WRITE, 20, 21, 22, 23, 24, 25, 26);
  else if constexpr (S.fresh) JFA_WGMMA_SS(40, "f16", JFA_WRITE, 20, 21, 22, 23, 24, 25, 26);
  else JFA_WGMMA_SS(40, "f16", JFA_READ_WRITE, 20, 21, 22, 23, 24, 25, 26);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[20], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(40, "bf16", JFA_WRITE, 20, 21, 22, 23, 24, 25, 26, 27);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(40, "bf16", JFA_READ_WRITE, 20, 21, 22, 23, 24, 25, 26, 27);
  else if constexpr (S.fresh) JFA_WGMMA_RS(40, "f16", JFA_WRITE, 20, 21, 22, 23, 24, 25, 26, 27);
  else JFA_WGMMA_RS(40, "f16", JFA_READ_WRITE, 20, 21, 22, 23, 24, 25, 26, 27);
}
#undef JFA_LIST_40
#undef JFA_OUT_40

#define JFA_LIST_48 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23}"
#define JFA_OUT_48(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[24], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(48, "bf16", JFA_WRITE, 24, 25, 26, 27, 28, 29, 30);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(48, "bf16", JFA_READ_WRITE, 24, 25, 26, 27, 28, 29, 30);
  else if constexpr (S.fresh) JFA_WGMMA_SS(48, "f16", JFA_WRITE, 24, 25, 26, 27, 28, 29, 30);
  else JFA_WGMMA_SS(48, "f16", JFA_READ_WRITE, 24, 25, 26, 27, 28, 29, 30);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[24], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(48, "bf16", JFA_WRITE, 24, 25, 26, 27, 28, 29, 30, 31);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(48, "bf16", JFA_READ_WRITE, 24, 25, 26, 27, 28, 29, 30, 31);
  else if constexpr (S.fresh) JFA_WGMMA_RS(48, "f16", JFA_WRITE, 24, 25, 26, 27, 28, 29, 30, 31);
  else JFA_WGMMA_RS(48, "f16", JFA_READ_WRITE, 24, 25, 26, 27, 28, 29, 30, 31);
}
#undef JFA_LIST_48
#undef JFA_OUT_48

#define JFA_LIST_56 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27}"
#define JFA_OUT_56(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[28], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(56, "bf16", JFA_WRITE, 28, 29, 30, 31, 32, 33, 34);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(56, "bf16", JFA_READ_WRITE, 28, 29, 30, 31, 32, 33, 34);
  else if constexpr (S.fresh) JFA_WGMMA_SS(56, "f16", JFA_WRITE, 28, 29, 30, 31, 32, 33, 34);
  else JFA_WGMMA_SS(56, "f16", JFA_READ_WRITE, 28, 29, 30, 31, 32, 33, 34);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[28], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(56, "bf16", JFA_WRITE, 28, 29, 30, 31, 32, 33, 34, 35);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(56, "bf16", JFA_READ_WRITE, 28, 29, 30, 31, 32, 33, 34, 35);
  else if constexpr (S.fresh) JFA_WGMMA_RS(56, "f16", JFA_WRITE, 28, 29, 30, 31, 32, 33, 34, 35);
  else JFA_WGMMA_RS(56, "f16", JFA_READ_WRITE, 28, 29, 30, 31, 32, 33, 34, 35);
}
#undef JFA_LIST_56
#undef JFA_OUT_56

#define JFA_LIST_64 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define JFA_OUT_64(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[32], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(64, "bf16", JFA_WRITE, 32, 33, 34, 35, 36, 37, 38);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(64, "bf16", JFA_READ_WRITE, 32, 33, 34, 35, 36, 37, 38);
  else if constexpr (S.fresh) JFA_WGMMA_SS(64, "f16", JFA_WRITE, 32, 33, 34, 35, 36, 37, 38);
  else JFA_WGMMA_SS(64, "f16", JFA_READ_WRITE, 32, 33, 34, 35, 36, 37, 38);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[32], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(64, "bf16", JFA_WRITE, 32, 33, 34, 35, 36, 37, 38, 39);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(64, "bf16", JFA_READ_WRITE, 32, 33, 34, 35, 36, 37, 38, 39);
  else if constexpr (S.fresh) JFA_WGMMA_RS(64, "f16", JFA_WRITE, 32, 33, 34, 35, 36, 37, 38, 39);
  else JFA_WGMMA_RS(64, "f16", JFA_READ_WRITE, 32, 33, 34, 35, 36, 37, 38, 39);
}
#undef JFA_LIST_64
#undef JFA_OUT_64

#define JFA_LIST_72 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35}"
#define JFA_OUT_72(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[36], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(72, "bf16", JFA_WRITE, 36, 37, 38, 39, 40, 41, 42);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(72, "bf16", JFA_READ_WRITE, 36, 37, 38, 39, 40, 41, 42);
  else if constexpr (S.fresh) JFA_WGMMA_SS(72, "f16", JFA_WRITE, 36, 37, 38, 39, 40, 41, 42);
  else JFA_WGMMA_SS(72, "f16", JFA_READ_WRITE, 36, 37, 38, 39, 40, 41, 42);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[36], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(72, "bf16", JFA_WRITE, 36, 37, 38, 39, 40, 41, 42, 43);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(72, "bf16", JFA_READ_WRITE, 36, 37, 38, 39, 40, 41, 42, 43);
  else if constexpr (S.fresh) JFA_WGMMA_RS(72, "f16", JFA_WRITE, 36, 37, 38, 39, 40, 41, 42, 43);
  else JFA_WGMMA_RS(72, "f16", JFA_READ_WRITE, 36, 37, 38, 39, 40, 41, 42, 43);
}
#undef JFA_LIST_72
#undef JFA_OUT_72

#define JFA_LIST_80 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39}"
#define JFA_OUT_80(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[40], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(80, "bf16", JFA_WRITE, 40, 41, 42, 43, 44, 45, 46);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(80, "bf16", JFA_READ_WRITE, 40, 41, 42, 43, 44, 45, 46);
  else if constexpr (S.fresh) JFA_WGMMA_SS(80, "f16", JFA_WRITE, 40, 41, 42, 43, 44, 45, 46);
  else JFA_WGMMA_SS(80, "f16", JFA_READ_WRITE, 40, 41, 42, 43, 44, 45, 46);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[40], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(80, "bf16", JFA_WRITE, 40, 41, 42, 43, 44, 45, 46, 47);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(80, "bf16", JFA_READ_WRITE, 40, 41, 42, 43, 44, 45, 46, 47);
  else if constexpr (S.fresh) JFA_WGMMA_RS(80, "f16", JFA_WRITE, 40, 41, 42, 43, 44, 45, 46, 47);
  else JFA_WGMMA_RS(80, "f16", JFA_READ_WRITE, 40, 41, 42, 43, 44, 45, 46, 47);
}
#undef JFA_LIST_80
#undef JFA_OUT_80

#define JFA_LIST_88 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43}"
#define JFA_OUT_88(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[44], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(88, "bf16", JFA_WRITE, 44, 45, 46, 47, 48, 49, 50);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(88, "bf16", JFA_READ_WRITE, 44, 45, 46, 47, 48, 49, 50);
  else if constexpr (S.fresh) JFA_WGMMA_SS(88, "f16", JFA_WRITE, 44, 45, 46, 47, 48, 49, 50);
  else JFA_WGMMA_SS(88, "f16", JFA_READ_WRITE, 44, 45, 46, 47, 48, 49, 50);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[44], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(88, "bf16", JFA_WRITE, 44, 45, 46, 47, 48, 49, 50, 51);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(88, "bf16", JFA_READ_WRITE, 44, 45, 46, 47, 48, 49, 50, 51);
  else if constexpr (S.fresh) JFA_WGMMA_RS(88, "f16", JFA_WRITE, 44, 45, 46, 47, 48, 49, 50, 51);
  else JFA_WGMMA_RS(88, "f16", JFA_READ_WRITE, 44, 45, 46, 47, 48, 49, 50, 51);
}
#undef JFA_LIST_88
#undef JFA_OUT_88

#define JFA_LIST_96 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47}"
#define JFA_OUT_96(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[48], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(96, "bf16", JFA_WRITE, 48, 49, 50, 51, 52, 53, 54);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(96, "bf16", JFA_READ_WRITE, 48, 49, 50, 51, 52, 53, 54);
  else if constexpr (S.fresh) JFA_WGMMA_SS(96, "f16", JFA_WRITE, 48, 49, 50, 51, 52, 53, 54);
  else JFA_WGMMA_SS(96, "f16", JFA_READ_WRITE, 48, 49, 50, 51, 52, 53, 54);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[48], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(96, "bf16", JFA_WRITE, 48, 49, 50, 51, 52, 53, 54, 55);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(96, "bf16", JFA_READ_WRITE, 48, 49, 50, 51, 52, 53, 54, 55);
  else if constexpr (S.fresh) JFA_WGMMA_RS(96, "f16", JFA_WRITE, 48, 49, 50, 51, 52, 53, 54, 55);
  else JFA_WGMMA_RS(96, "f16", JFA_READ_WRITE, 48, 49, 50, 51, 52, 53, 54, 55);
}
#undef JFA_LIST_96
#undef JFA_OUT_96

#define JFA_LIST_104 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51}"
#define JFA_OUT_104(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[52], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(104, "bf16", JFA_WRITE, 52, 53, 54, 55, 56, 57, 58);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(104, "bf16", JFA_READ_WRITE, 52, 53, 54, 55, 56, 57, 58);
  else if constexpr (S.fresh) JFA_WGMMA_SS(104, "f16", JFA_WRITE, 52, 53, 54, 55, 56, 57, 58);
  else JFA_WGMMA_SS(104, "f16", JFA_READ_WRITE, 52, 53, 54, 55, 56, 57, 58);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[52], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(104, "bf16", JFA_WRITE, 52, 53, 54, 55, 56, 57, 58, 59);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(104, "bf16", JFA_READ_WRITE, 52, 53, 54, 55, 56, 57, 58, 59);
  else if constexpr (S.fresh) JFA_WGMMA_RS(104, "f16", JFA_WRITE, 52, 53, 54, 55, 56, 57, 58, 59);
  else JFA_WGMMA_RS(104, "f16", JFA_READ_WRITE, 52, 53, 54, 55, 56, 57, 58, 59);
}
#undef JFA_LIST_104
#undef JFA_OUT_104

#define JFA_LIST_112 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55}"
#define JFA_OUT_112(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[56], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(112, "bf16", JFA_WRITE, 56, 57, 58, 59, 60, 61, 62);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(112, "bf16", JFA_READ_WRITE, 56, 57, 58, 59, 60, 61, 62);
  else if constexpr (S.fresh) JFA_WGMMA_SS(112, "f16", JFA_WRITE, 56, 57, 58, 59, 60, 61, 62);
  else JFA_WGMMA_SS(112, "f16", JFA_READ_WRITE, 56, 57, 58, 59, 60, 61, 62);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[56], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(112, "bf16", JFA_WRITE, 56, 57, 58, 59, 60, 61, 62, 63);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(112, "bf16", JFA_READ_WRITE, 56, 57, 58, 59, 60, 61, 62, 63);
  else if constexpr (S.fresh) JFA_WGMMA_RS(112, "f16", JFA_WRITE, 56, 57, 58, 59, 60, 61, 62, 63);
  else JFA_WGMMA_RS(112, "f16", JFA_READ_WRITE, 56, 57, 58, 59, 60, 61, 62, 63);
}
#undef JFA_LIST_112
#undef JFA_OUT_112

#define JFA_LIST_120 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59}"
#define JFA_OUT_120(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55]), OUT(d[56]), OUT(d[57]), OUT(d[58]), OUT(d[59])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[60], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(120, "bf16", JFA_WRITE, 60, 61, 62, 63, 64, 65, 66);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(120, "bf16", JFA_READ_WRITE, 60, 61, 62, 63, 64, 65, 66);
  else if constexpr (S.fresh) JFA_WGMMA_SS(120, "f16", JFA_WRITE, 60, 61, 62, 63, 64, 65, 66);
  else JFA_WGMMA_SS(120, "f16", JFA_READ_WRITE, 60, 61, 62, 63, 64, 65, 66);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[60], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(120, "bf16", JFA_WRITE, 60, 61, 62, 63, 64, 65, 66, 67);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(120, "bf16", JFA_READ_WRITE, 60, 61, 62, 63, 64, 65, 66, 67);
  else if constexpr (S.fresh) JFA_WGMMA_RS(120, "f16", JFA_WRITE, 60, 61, 62, 63, 64, 65, 66, 67);
  else JFA_WGMMA_RS(120, "f16", JFA_READ_WRITE, 60, 61, 62, 63, 64, 65, 66, 67);
}
#undef JFA_LIST_120
#undef JFA_OUT_120

#define JFA_LIST_128 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"
#define JFA_OUT_128(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55]), OUT(d[56]), OUT(d[57]), OUT(d[58]), OUT(d[59]), OUT(d[60]), OUT(d[61]), OUT(d[62]), OUT(d[63])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[64], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(128, "bf16", JFA_WRITE, 64, 65, 66, 67, 68, 69, 70);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(128, "bf16", JFA_READ_WRITE, 64, 65, 66, 67, 68, 69, 70);
  else if constexpr (S.fresh) JFA_WGMMA_SS(128, "f16", JFA_WRITE, 64, 65, 66, 67, 68, 69, 70);
  else JFA_WGMMA_SS(128, "f16", JFA_READ_WRITE, 64, 65, 66, 67, 68, 69, 70);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[64], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(128, "bf16", JFA_WRITE, 64, 65, 66, 67, 68, 69, 70, 71);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(128, "bf16", JFA_READ_WRITE, 64, 65, 66, 67, 68, 69, 70, 71);
  else if constexpr (S.fresh) JFA_WGMMA_RS(128, "f16", JFA_WRITE, 64, 65, 66, 67, 68, 69, 70, 71);
  else JFA_WGMMA_RS(128, "f16", JFA_READ_WRITE, 64, 65, 66, 67, 68, 69, 70, 71);
}
#undef JFA_LIST_128
#undef JFA_OUT_128

#define JFA_LIST_136 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67}"
#define JFA_OUT_136(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55]), OUT(d[56]), OUT(d[57]), OUT(d[58]), OUT(d[59]), OUT(d[60]), OUT(d[61]), OUT(d[62]), OUT(d[63]), OUT(d[64]), OUT(d[65]), OUT(d[66]), OUT(d[67])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[68], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(136, "bf16", JFA_WRITE, 68, 69, 70, 71, 72, 73, 74);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(136, "bf16", JFA_READ_WRITE, 68, 69, 70, 71, 72, 73, 74);
  else if constexpr (S.fresh) JFA_WGMMA_SS(136, "f16", JFA_WRITE, 68, 69, 70, 71, 72, 73, 74);
  else JFA_WGMMA_SS(136, "f16", JFA_READ_WRITE, 68, 69, 70, 71, 72, 73, 74);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[68], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(136, "bf16", JFA_WRITE, 68, 69, 70, 71, 72, 73, 74, 75);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(136, "bf16", JFA_READ_WRITE, 68, 69, 70, 71, 72, 73, 74, 75);
  else if constexpr (S.fresh) JFA_WGMMA_RS(136, "f16", JFA_WRITE, 68, 69, 70, 71, 72, 73, 74, 75);
  else JFA_WGMMA_RS(136, "f16", JFA_READ_WRITE, 68, 69, 70, 71, 72, 73, 74, 75);
}
#undef JFA_LIST_136
#undef JFA_OUT_136

#define JFA_LIST_144 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71}"
#define JFA_OUT_144(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55]), OUT(d[56]), OUT(d[57]), OUT(d[58]), OUT(d[59]), OUT(d[60]), OUT(d[61]), OUT(d[62]), OUT(d[63]), OUT(d[64]), OUT(d[65]), OUT(d[66]), OUT(d[67]), OUT(d[68]), OUT(d[69]), OUT(d[70]), OUT(d[71])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[72], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(144, "bf16", JFA_WRITE, 72, 73, 74, 75, 76, 77, 78);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(144, "bf16", JFA_READ_WRITE, 72, 73, 74, 75, 76, 77, 78);
  else if constexpr (S.fresh) JFA_WGMMA_SS(144, "f16", JFA_WRITE, 72, 73, 74, 75, 76, 77, 78);
  else JFA_WGMMA_SS(144, "f16", JFA_READ_WRITE, 72, 73, 74, 75, 76, 77, 78);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[72], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(144, "bf16", JFA_WRITE, 72, 73, 74, 75, 76, 77, 78, 79);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(144, "bf16", JFA_READ_WRITE, 72, 73, 74, 75, 76, 77, 78, 79);
  else if constexpr (S.fresh) JFA_WGMMA_RS(144, "f16", JFA_WRITE, 72, 73, 74, 75, 76, 77, 78, 79);
  else JFA_WGMMA_RS(144, "f16", JFA_READ_WRITE, 72, 73, 74, 75, 76, 77, 78, 79);
}
#undef JFA_LIST_144
#undef JFA_OUT_144

#define JFA_LIST_152 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75}"
#define JFA_OUT_152(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55]), OUT(d[56]), OUT(d[57]), OUT(d[58]), OUT(d[59]), OUT(d[60]), OUT(d[61]), OUT(d[62]), OUT(d[63]), OUT(d[64]), OUT(d[65]), OUT(d[66]), OUT(d[67]), OUT(d[68]), OUT(d[69]), OUT(d[70]), OUT(d[71]), OUT(d[72]), OUT(d[73]), OUT(d[74]), OUT(d[75])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[76], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(152, "bf16", JFA_WRITE, 76, 77, 78, 79, 80, 81, 82);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(152, "bf16", JFA_READ_WRITE, 76, 77, 78, 79, 80, 81, 82);
  else if constexpr (S.fresh) JFA_WGMMA_SS(152, "f16", JFA_WRITE, 76, 77, 78, 79, 80, 81, 82);
  else JFA_WGMMA_SS(152, "f16", JFA_READ_WRITE, 76, 77, 78, 79, 80, 81, 82);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[76], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(152, "bf16", JFA_WRITE, 76, 77, 78, 79, 80, 81, 82, 83);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(152, "bf16", JFA_READ_WRITE, 76, 77, 78, 79, 80, 81, 82, 83);
  else if constexpr (S.fresh) JFA_WGMMA_RS(152, "f16", JFA_WRITE, 76, 77, 78, 79, 80, 81, 82, 83);
  else JFA_WGMMA_RS(152, "f16", JFA_READ_WRITE, 76, 77, 78, 79, 80, 81, 82, 83);
}
#undef JFA_LIST_152
#undef JFA_OUT_152

#define JFA_LIST_160 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79}"
#define JFA_OUT_160(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55]), OUT(d[56]), OUT(d[57]), OUT(d[58]), OUT(d[59]), OUT(d[60]), OUT(d[61]), OUT(d[62]), OUT(d[63]), OUT(d[64]), OUT(d[65]), OUT(d[66]), OUT(d[67]), OUT(d[68]), OUT(d[69]), OUT(d[70]), OUT(d[71]), OUT(d[72]), OUT(d[73]), OUT(d[74]), OUT(d[75]), OUT(d[76]), OUT(d[77]), OUT(d[78]), OUT(d[79])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[80], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(160, "bf16", JFA_WRITE, 80, 81, 82, 83, 84, 85, 86);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(160, "bf16", JFA_READ_WRITE, 80, 81, 82, 83, 84, 85, 86);
  else if constexpr (S.fresh) JFA_WGMMA_SS(160, "f16", JFA_WRITE, 80, 81, 82, 83, 84, 85, 86);
  else JFA_WGMMA_SS(160, "f16", JFA_READ_WRITE, 80, 81, 82, 83, 84, 85, 86);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[80], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(160, "bf16", JFA_WRITE, 80, 81, 82, 83, 84, 85, 86, 87);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(160, "bf16", JFA_READ_WRITE, 80, 81, 82, 83, 84, 85, 86, 87);
  else if constexpr (S.fresh) JFA_WGMMA_RS(160, "f16", JFA_WRITE, 80, 81, 82, 83, 84, 85, 86, 87);
  else JFA_WGMMA_RS(160, "f16", JFA_READ_WRITE, 80, 81, 82, 83, 84, 85, 86, 87);
}
#undef JFA_LIST_160
#undef JFA_OUT_160

#define JFA_LIST_168 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83}"
#define JFA_OUT_168(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55]), OUT(d[56]), OUT(d[57]), OUT(d[58]), OUT(d[59]), OUT(d[60]), OUT(d[61]), OUT(d[62]), OUT(d[63]), OUT(d[64]), OUT(d[65]), OUT(d[66]), OUT(d[67]), OUT(d[68]), OUT(d[69]), OUT(d[70]), OUT(d[71]), OUT(d[72]), OUT(d[73]), OUT(d[74]), OUT(d[75]), OUT(d[76]), OUT(d[77]), OUT(d[78]), OUT(d[79]), OUT(d[80]), OUT(d[81]), OUT(d[82]), OUT(d[83])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[84], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(168, "bf16", JFA_WRITE, 84, 85, 86, 87, 88, 89, 90);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(168, "bf16", JFA_READ_WRITE, 84, 85, 86, 87, 88, 89, 90);
  else if constexpr (S.fresh) JFA_WGMMA_SS(168, "f16", JFA_WRITE, 84, 85, 86, 87, 88, 89, 90);
  else JFA_WGMMA_SS(168, "f16", JFA_READ_WRITE, 84, 85, 86, 87, 88, 89, 90);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[84], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(168, "bf16", JFA_WRITE, 84, 85, 86, 87, 88, 89, 90, 91);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(168, "bf16", JFA_READ_WRITE, 84, 85, 86, 87, 88, 89, 90, 91);
  else if constexpr (S.fresh) JFA_WGMMA_RS(168, "f16", JFA_WRITE, 84, 85, 86, 87, 88, 89, 90, 91);
  else JFA_WGMMA_RS(168, "f16", JFA_READ_WRITE, 84, 85, 86, 87, 88, 89, 90, 91);
}
#undef JFA_LIST_168
#undef JFA_OUT_168

#define JFA_LIST_176 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87}"
#define JFA_OUT_176(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55]), OUT(d[56]), OUT(d[57]), OUT(d[58]), OUT(d[59]), OUT(d[60]), OUT(d[61]), OUT(d[62]), OUT(d[63]), OUT(d[64]), OUT(d[65]), OUT(d[66]), OUT(d[67]), OUT(d[68]), OUT(d[69]), OUT(d[70]), OUT(d[71]), OUT(d[72]), OUT(d[73]), OUT(d[74]), OUT(d[75]), OUT(d[76]), OUT(d[77]), OUT(d[78]), OUT(d[79]), OUT(d[80]), OUT(d[81]), OUT(d[82]), OUT(d[83]), OUT(d[84]), OUT(d[85]), OUT(d[86]), OUT(d[87])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[88], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(176, "bf16", JFA_WRITE, 88, 89, 90, 91, 92, 93, 94);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(176, "bf16", JFA_READ_WRITE, 88, 89, 90, 91, 92, 93, 94);
  else if constexpr (S.fresh) JFA_WGMMA_SS(176, "f16", JFA_WRITE, 88, 89, 90, 91, 92, 93, 94);
  else JFA_WGMMA_SS(176, "f16", JFA_READ_WRITE, 88, 89, 90, 91, 92, 93, 94);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[88], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(176, "bf16", JFA_WRITE, 88, 89, 90, 91, 92, 93, 94, 95);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(176, "bf16", JFA_READ_WRITE, 88, 89, 90, 91, 92, 93, 94, 95);
  else if constexpr (S.fresh) JFA_WGMMA_RS(176, "f16", JFA_WRITE, 88, 89, 90, 91, 92, 93, 94, 95);
  else JFA_WGMMA_RS(176, "f16", JFA_READ_WRITE, 88, 89, 90, 91, 92, 93, 94, 95);
}
#undef JFA_LIST_176
#undef JFA_OUT_176

#define JFA_LIST_184 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91}"
#define JFA_OUT_184(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55]), OUT(d[56]), OUT(d[57]), OUT(d[58]), OUT(d[59]), OUT(d[60]), OUT(d[61]), OUT(d[62]), OUT(d[63]), OUT(d[64]), OUT(d[65]), OUT(d[66]), OUT(d[67]), OUT(d[68]), OUT(d[69]), OUT(d[70]), OUT(d[71]), OUT(d[72]), OUT(d[73]), OUT(d[74]), OUT(d[75]), OUT(d[76]), OUT(d[77]), OUT(d[78]), OUT(d[79]), OUT(d[80]), OUT(d[81]), OUT(d[82]), OUT(d[83]), OUT(d[84]), OUT(d[85]), OUT(d[86]), OUT(d[87]), OUT(d[88]), OUT(d[89]), OUT(d[90]), OUT(d[91])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[92], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(184, "bf16", JFA_WRITE, 92, 93, 94, 95, 96, 97, 98);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(184, "bf16", JFA_READ_WRITE, 92, 93, 94, 95, 96, 97, 98);
  else if constexpr (S.fresh) JFA_WGMMA_SS(184, "f16", JFA_WRITE, 92, 93, 94, 95, 96, 97, 98);
  else JFA_WGMMA_SS(184, "f16", JFA_READ_WRITE, 92, 93, 94, 95, 96, 97, 98);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[92], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(184, "bf16", JFA_WRITE, 92, 93, 94, 95, 96, 97, 98, 99);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(184, "bf16", JFA_READ_WRITE, 92, 93, 94, 95, 96, 97, 98, 99);
  else if constexpr (S.fresh) JFA_WGMMA_RS(184, "f16", JFA_WRITE, 92, 93, 94, 95, 96, 97, 98, 99);
  else JFA_WGMMA_RS(184, "f16", JFA_READ_WRITE, 92, 93, 94, 95, 96, 97, 98, 99);
}
#undef JFA_LIST_184
#undef JFA_OUT_184

#define JFA_LIST_192 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95}"
#define JFA_OUT_192(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55]), OUT(d[56]), OUT(d[57]), OUT(d[58]), OUT(d[59]), OUT(d[60]), OUT(d[61]), OUT(d[62]), OUT(d[63]), OUT(d[64]), OUT(d[65]), OUT(d[66]), OUT(d[67]), OUT(d[68]), OUT(d[69]), OUT(d[70]), OUT(d[71]), OUT(d[72]), OUT(d[73]), OUT(d[74]), OUT(d[75]), OUT(d[76]), OUT(d[77]), OUT(d[78]), OUT(d[79]), OUT(d[80]), OUT(d[81]), OUT(d[82]), OUT(d[83]), OUT(d[84]), OUT(d[85]), OUT(d[86]), OUT(d[87]), OUT(d[88]), OUT(d[89]), OUT(d[90]), OUT(d[91]), OUT(d[92]), OUT(d[93]), OUT(d[94]), OUT(d[95])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[96], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(192, "bf16", JFA_WRITE, 96, 97, 98, 99, 100, 101, 102);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(192, "bf16", JFA_READ_WRITE, 96, 97, 98, 99, 100, 101, 102);
  else if constexpr (S.fresh) JFA_WGMMA_SS(192, "f16", JFA_WRITE, 96, 97, 98, 99, 100, 101, 102);
  else JFA_WGMMA_SS(192, "f16", JFA_READ_WRITE, 96, 97, 98, 99, 100, 101, 102);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[96], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(192, "bf16", JFA_WRITE, 96, 97, 98, 99, 100, 101, 102, 103);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(192, "bf16", JFA_READ_WRITE, 96, 97, 98, 99, 100, 101, 102, 103);
  else if constexpr (S.fresh) JFA_WGMMA_RS(192, "f16", JFA_WRITE, 96, 97, 98, 99, 100, 101, 102, 103);
  else JFA_WGMMA_RS(192, "f16", JFA_READ_WRITE, 96, 97, 98, 99, 100, 101, 102, 103);
}
#undef JFA_LIST_192
#undef JFA_OUT_192

#define JFA_LIST_200 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99}"
#define JFA_OUT_200(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55]), OUT(d[56]), OUT(d[57]), OUT(d[58]), OUT(d[59]), OUT(d[60]), OUT(d[61]), OUT(d[62]), OUT(d[63]), OUT(d[64]), OUT(d[65]), OUT(d[66]), OUT(d[67]), OUT(d[68]), OUT(d[69]), OUT(d[70]), OUT(d[71]), OUT(d[72]), OUT(d[73]), OUT(d[74]), OUT(d[75]), OUT(d[76]), OUT(d[77]), OUT(d[78]), OUT(d[79]), OUT(d[80]), OUT(d[81]), OUT(d[82]), OUT(d[83]), OUT(d[84]), OUT(d[85]), OUT(d[86]), OUT(d[87]), OUT(d[88]), OUT(d[89]), OUT(d[90]), OUT(d[91]), OUT(d[92]), OUT(d[93]), OUT(d[94]), OUT(d[95]), OUT(d[96]), OUT(d[97]), OUT(d[98]), OUT(d[99])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[100], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(200, "bf16", JFA_WRITE, 100, 101, 102, 103, 104, 105, 106);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(200, "bf16", JFA_READ_WRITE, 100, 101, 102, 103, 104, 105, 106);
  else if constexpr (S.fresh) JFA_WGMMA_SS(200, "f16", JFA_WRITE, 100, 101, 102, 103, 104, 105, 106);
  else JFA_WGMMA_SS(200, "f16", JFA_READ_WRITE, 100, 101, 102, 103, 104, 105, 106);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[100], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(200, "bf16", JFA_WRITE, 100, 101, 102, 103, 104, 105, 106, 107);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(200, "bf16", JFA_READ_WRITE, 100, 101, 102, 103, 104, 105, 106, 107);
  else if constexpr (S.fresh) JFA_WGMMA_RS(200, "f16", JFA_WRITE, 100, 101, 102, 103, 104, 105, 106, 107);
  else JFA_WGMMA_RS(200, "f16", JFA_READ_WRITE, 100, 101, 102, 103, 104, 105, 106, 107);
}
#undef JFA_LIST_200
#undef JFA_OUT_200

#define JFA_LIST_208 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103}"
#define JFA_OUT_208(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55]), OUT(d[56]), OUT(d[57]), OUT(d[58]), OUT(d[59]), OUT(d[60]), OUT(d[61]), OUT(d[62]), OUT(d[63]), OUT(d[64]), OUT(d[65]), OUT(d[66]), OUT(d[67]), OUT(d[68]), OUT(d[69]), OUT(d[70]), OUT(d[71]), OUT(d[72]), OUT(d[73]), OUT(d[74]), OUT(d[75]), OUT(d[76]), OUT(d[77]), OUT(d[78]), OUT(d[79]), OUT(d[80]), OUT(d[81]), OUT(d[82]), OUT(d[83]), OUT(d[84]), OUT(d[85]), OUT(d[86]), OUT(d[87]), OUT(d[88]), OUT(d[89]), OUT(d[90]), OUT(d[91]), OUT(d[92]), OUT(d[93]), OUT(d[94]), OUT(d[95]), OUT(d[96]), OUT(d[97]), OUT(d[98]), OUT(d[99]), OUT(d[100]), OUT(d[101]), OUT(d[102]), OUT(d[103])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[104], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(208, "bf16", JFA_WRITE, 104, 105, 106, 107, 108, 109, 110);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(208, "bf16", JFA_READ_WRITE, 104, 105, 106, 107, 108, 109, 110);
  else if constexpr (S.fresh) JFA_WGMMA_SS(208, "f16", JFA_WRITE, 104, 105, 106, 107, 108, 109, 110);
  else JFA_WGMMA_SS(208, "f16", JFA_READ_WRITE, 104, 105, 106, 107, 108, 109, 110);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[104], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(208, "bf16", JFA_WRITE, 104, 105, 106, 107, 108, 109, 110, 111);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(208, "bf16", JFA_READ_WRITE, 104, 105, 106, 107, 108, 109, 110, 111);
  else if constexpr (S.fresh) JFA_WGMMA_RS(208, "f16", JFA_WRITE, 104, 105, 106, 107, 108, 109, 110, 111);
  else JFA_WGMMA_RS(208, "f16", JFA_READ_WRITE, 104, 105, 106, 107, 108, 109, 110, 111);
}
#undef JFA_LIST_208
#undef JFA_OUT_208

#define JFA_LIST_216 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107}"
#define JFA_OUT_216(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55]), OUT(d[56]), OUT(d[57]), OUT(d[58]), OUT(d[59]), OUT(d[60]), OUT(d[61]), OUT(d[62]), OUT(d[63]), OUT(d[64]), OUT(d[65]), OUT(d[66]), OUT(d[67]), OUT(d[68]), OUT(d[69]), OUT(d[70]), OUT(d[71]), OUT(d[72]), OUT(d[73]), OUT(d[74]), OUT(d[75]), OUT(d[76]), OUT(d[77]), OUT(d[78]), OUT(d[79]), OUT(d[80]), OUT(d[81]), OUT(d[82]), OUT(d[83]), OUT(d[84]), OUT(d[85]), OUT(d[86]), OUT(d[87]), OUT(d[88]), OUT(d[89]), OUT(d[90]), OUT(d[91]), OUT(d[92]), OUT(d[93]), OUT(d[94]), OUT(d[95]), OUT(d[96]), OUT(d[97]), OUT(d[98]), OUT(d[99]), OUT(d[100]), OUT(d[101]), OUT(d[102]), OUT(d[103]), OUT(d[104]), OUT(d[105]), OUT(d[106]), OUT(d[107])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[108], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(216, "bf16", JFA_WRITE, 108, 109, 110, 111, 112, 113, 114);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(216, "bf16", JFA_READ_WRITE, 108, 109, 110, 111, 112, 113, 114);
  else if constexpr (S.fresh) JFA_WGMMA_SS(216, "f16", JFA_WRITE, 108, 109, 110, 111, 112, 113, 114);
  else JFA_WGMMA_SS(216, "f16", JFA_READ_WRITE, 108, 109, 110, 111, 112, 113, 114);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[108], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(216, "bf16", JFA_WRITE, 108, 109, 110, 111, 112, 113, 114, 115);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(216, "bf16", JFA_READ_WRITE, 108, 109, 110, 111, 112, 113, 114, 115);
  else if constexpr (S.fresh) JFA_WGMMA_RS(216, "f16", JFA_WRITE, 108, 109, 110, 111, 112, 113, 114, 115);
  else JFA_WGMMA_RS(216, "f16", JFA_READ_WRITE, 108, 109, 110, 111, 112, 113, 114, 115);
}
#undef JFA_LIST_216
#undef JFA_OUT_216

#define JFA_LIST_224 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111}"
#define JFA_OUT_224(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55]), OUT(d[56]), OUT(d[57]), OUT(d[58]), OUT(d[59]), OUT(d[60]), OUT(d[61]), OUT(d[62]), OUT(d[63]), OUT(d[64]), OUT(d[65]), OUT(d[66]), OUT(d[67]), OUT(d[68]), OUT(d[69]), OUT(d[70]), OUT(d[71]), OUT(d[72]), OUT(d[73]), OUT(d[74]), OUT(d[75]), OUT(d[76]), OUT(d[77]), OUT(d[78]), OUT(d[79]), OUT(d[80]), OUT(d[81]), OUT(d[82]), OUT(d[83]), OUT(d[84]), OUT(d[85]), OUT(d[86]), OUT(d[87]), OUT(d[88]), OUT(d[89]), OUT(d[90]), OUT(d[91]), OUT(d[92]), OUT(d[93]), OUT(d[94]), OUT(d[95]), OUT(d[96]), OUT(d[97]), OUT(d[98]), OUT(d[99]), OUT(d[100]), OUT(d[101]), OUT(d[102]), OUT(d[103]), OUT(d[104]), OUT(d[105]), OUT(d[106]), OUT(d[107]), OUT(d[108]), OUT(d[109]), OUT(d[110]), OUT(d[111])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[112], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(224, "bf16", JFA_WRITE, 112, 113, 114, 115, 116, 117, 118);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(224, "bf16", JFA_READ_WRITE, 112, 113, 114, 115, 116, 117, 118);
  else if constexpr (S.fresh) JFA_WGMMA_SS(224, "f16", JFA_WRITE, 112, 113, 114, 115, 116, 117, 118);
  else JFA_WGMMA_SS(224, "f16", JFA_READ_WRITE, 112, 113, 114, 115, 116, 117, 118);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[112], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(224, "bf16", JFA_WRITE, 112, 113, 114, 115, 116, 117, 118, 119);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(224, "bf16", JFA_READ_WRITE, 112, 113, 114, 115, 116, 117, 118, 119);
  else if constexpr (S.fresh) JFA_WGMMA_RS(224, "f16", JFA_WRITE, 112, 113, 114, 115, 116, 117, 118, 119);
  else JFA_WGMMA_RS(224, "f16", JFA_READ_WRITE, 112, 113, 114, 115, 116, 117, 118, 119);
}
#undef JFA_LIST_224
#undef JFA_OUT_224

#define JFA_LIST_232 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115}"
#define JFA_OUT_232(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55]), OUT(d[56]), OUT(d[57]), OUT(d[58]), OUT(d[59]), OUT(d[60]), OUT(d[61]), OUT(d[62]), OUT(d[63]), OUT(d[64]), OUT(d[65]), OUT(d[66]), OUT(d[67]), OUT(d[68]), OUT(d[69]), OUT(d[70]), OUT(d[71]), OUT(d[72]), OUT(d[73]), OUT(d[74]), OUT(d[75]), OUT(d[76]), OUT(d[77]), OUT(d[78]), OUT(d[79]), OUT(d[80]), OUT(d[81]), OUT(d[82]), OUT(d[83]), OUT(d[84]), OUT(d[85]), OUT(d[86]), OUT(d[87]), OUT(d[88]), OUT(d[89]), OUT(d[90]), OUT(d[91]), OUT(d[92]), OUT(d[93]), OUT(d[94]), OUT(d[95]), OUT(d[96]), OUT(d[97]), OUT(d[98]), OUT(d[99]), OUT(d[100]), OUT(d[101]), OUT(d[102]), OUT(d[103]), OUT(d[104]), OUT(d[105]), OUT(d[106]), OUT(d[107]), OUT(d[108]), OUT(d[109]), OUT(d[110]), OUT(d[111]), OUT(d[112]), OUT(d[113]), OUT(d[114]), OUT(d[115])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[116], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(232, "bf16", JFA_WRITE, 116, 117, 118, 119, 120, 121, 122);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(232, "bf16", JFA_READ_WRITE, 116, 117, 118, 119, 120, 121, 122);
  else if constexpr (S.fresh) JFA_WGMMA_SS(232, "f16", JFA_WRITE, 116, 117, 118, 119, 120, 121, 122);
  else JFA_WGMMA_SS(232, "f16", JFA_READ_WRITE, 116, 117, 118, 119, 120, 121, 122);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[116], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(232, "bf16", JFA_WRITE, 116, 117, 118, 119, 120, 121, 122, 123);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(232, "bf16", JFA_READ_WRITE, 116, 117, 118, 119, 120, 121, 122, 123);
  else if constexpr (S.fresh) JFA_WGMMA_RS(232, "f16", JFA_WRITE, 116, 117, 118, 119, 120, 121, 122, 123);
  else JFA_WGMMA_RS(232, "f16", JFA_READ_WRITE, 116, 117, 118, 119, 120, 121, 122, 123);
}
#undef JFA_LIST_232
#undef JFA_OUT_232

#define JFA_LIST_240 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119}"
#define JFA_OUT_240(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55]), OUT(d[56]), OUT(d[57]), OUT(d[58]), OUT(d[59]), OUT(d[60]), OUT(d[61]), OUT(d[62]), OUT(d[63]), OUT(d[64]), OUT(d[65]), OUT(d[66]), OUT(d[67]), OUT(d[68]), OUT(d[69]), OUT(d[70]), OUT(d[71]), OUT(d[72]), OUT(d[73]), OUT(d[74]), OUT(d[75]), OUT(d[76]), OUT(d[77]), OUT(d[78]), OUT(d[79]), OUT(d[80]), OUT(d[81]), OUT(d[82]), OUT(d[83]), OUT(d[84]), OUT(d[85]), OUT(d[86]), OUT(d[87]), OUT(d[88]), OUT(d[89]), OUT(d[90]), OUT(d[91]), OUT(d[92]), OUT(d[93]), OUT(d[94]), OUT(d[95]), OUT(d[96]), OUT(d[97]), OUT(d[98]), OUT(d[99]), OUT(d[100]), OUT(d[101]), OUT(d[102]), OUT(d[103]), OUT(d[104]), OUT(d[105]), OUT(d[106]), OUT(d[107]), OUT(d[108]), OUT(d[109]), OUT(d[110]), OUT(d[111]), OUT(d[112]), OUT(d[113]), OUT(d[114]), OUT(d[115]), OUT(d[116]), OUT(d[117]), OUT(d[118]), OUT(d[119])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[120], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(240, "bf16", JFA_WRITE, 120, 121, 122, 123, 124, 125, 126);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(240, "bf16", JFA_READ_WRITE, 120, 121, 122, 123, 124, 125, 126);
  else if constexpr (S.fresh) JFA_WGMMA_SS(240, "f16", JFA_WRITE, 120, 121, 122, 123, 124, 125, 126);
  else JFA_WGMMA_SS(240, "f16", JFA_READ_WRITE, 120, 121, 122, 123, 124, 125, 126);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[120], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(240, "bf16", JFA_WRITE, 120, 121, 122, 123, 124, 125, 126, 127);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(240, "bf16", JFA_READ_WRITE, 120, 121, 122, 123, 124, 125, 126, 127);
  else if constexpr (S.fresh) JFA_WGMMA_RS(240, "f16", JFA_WRITE, 120, 121, 122, 123, 124, 125, 126, 127);
  else JFA_WGMMA_RS(240, "f16", JFA_READ_WRITE, 120, 121, 122, 123, 124, 125, 126, 127);
}
#undef JFA_LIST_240
#undef JFA_OUT_240

#define JFA_LIST_248 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123}"
#define JFA_OUT_248(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55]), OUT(d[56]), OUT(d[57]), OUT(d[58]), OUT(d[59]), OUT(d[60]), OUT(d[61]), OUT(d[62]), OUT(d[63]), OUT(d[64]), OUT(d[65]), OUT(d[66]), OUT(d[67]), OUT(d[68]), OUT(d[69]), OUT(d[70]), OUT(d[71]), OUT(d[72]), OUT(d[73]), OUT(d[74]), OUT(d[75]), OUT(d[76]), OUT(d[77]), OUT(d[78]), OUT(d[79]), OUT(d[80]), OUT(d[81]), OUT(d[82]), OUT(d[83]), OUT(d[84]), OUT(d[85]), OUT(d[86]), OUT(d[87]), OUT(d[88]), OUT(d[89]), OUT(d[90]), OUT(d[91]), OUT(d[92]), OUT(d[93]), OUT(d[94]), OUT(d[95]), OUT(d[96]), OUT(d[97]), OUT(d[98]), OUT(d[99]), OUT(d[100]), OUT(d[101]), OUT(d[102]), OUT(d[103]), OUT(d[104]), OUT(d[105]), OUT(d[106]), OUT(d[107]), OUT(d[108]), OUT(d[109]), OUT(d[110]), OUT(d[111]), OUT(d[112]), OUT(d[113]), OUT(d[114]), OUT(d[115]), OUT(d[116]), OUT(d[117]), OUT(d[118]), OUT(d[119]), OUT(d[120]), OUT(d[121]), OUT(d[122]), OUT(d[123])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[124], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(248, "bf16", JFA_WRITE, 124, 125, 126, 127, 128, 129, 130);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(248, "bf16", JFA_READ_WRITE, 124, 125, 126, 127, 128, 129, 130);
  else if constexpr (S.fresh) JFA_WGMMA_SS(248, "f16", JFA_WRITE, 124, 125, 126, 127, 128, 129, 130);
  else JFA_WGMMA_SS(248, "f16", JFA_READ_WRITE, 124, 125, 126, 127, 128, 129, 130);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[124], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(248, "bf16", JFA_WRITE, 124, 125, 126, 127, 128, 129, 130, 131);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(248, "bf16", JFA_READ_WRITE, 124, 125, 126, 127, 128, 129, 130, 131);
  else if constexpr (S.fresh) JFA_WGMMA_RS(248, "f16", JFA_WRITE, 124, 125, 126, 127, 128, 129, 130, 131);
  else JFA_WGMMA_RS(248, "f16", JFA_READ_WRITE, 124, 125, 126, 127, 128, 129, 130, 131);
}
#undef JFA_LIST_248
#undef JFA_OUT_248

#define JFA_LIST_256 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}"
#define JFA_OUT_256(OUT) OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3]), OUT(d[4]), OUT(d[5]), OUT(d[6]), OUT(d[7]), OUT(d[8]), OUT(d[9]), OUT(d[10]), OUT(d[11]), OUT(d[12]), OUT(d[13]), OUT(d[14]), OUT(d[15]), OUT(d[16]), OUT(d[17]), OUT(d[18]), OUT(d[19]), OUT(d[20]), OUT(d[21]), OUT(d[22]), OUT(d[23]), OUT(d[24]), OUT(d[25]), OUT(d[26]), OUT(d[27]), OUT(d[28]), OUT(d[29]), OUT(d[30]), OUT(d[31]), OUT(d[32]), OUT(d[33]), OUT(d[34]), OUT(d[35]), OUT(d[36]), OUT(d[37]), OUT(d[38]), OUT(d[39]), OUT(d[40]), OUT(d[41]), OUT(d[42]), OUT(d[43]), OUT(d[44]), OUT(d[45]), OUT(d[46]), OUT(d[47]), OUT(d[48]), OUT(d[49]), OUT(d[50]), OUT(d[51]), OUT(d[52]), OUT(d[53]), OUT(d[54]), OUT(d[55]), OUT(d[56]), OUT(d[57]), OUT(d[58]), OUT(d[59]), OUT(d[60]), OUT(d[61]), OUT(d[62]), OUT(d[63]), OUT(d[64]), OUT(d[65]), OUT(d[66]), OUT(d[67]), OUT(d[68]), OUT(d[69]), OUT(d[70]), OUT(d[71]), OUT(d[72]), OUT(d[73]), OUT(d[74]), OUT(d[75]), OUT(d[76]), OUT(d[77]), OUT(d[78]), OUT(d[79]), OUT(d[80]), OUT(d[81]), OUT(d[82]), OUT(d[83]), OUT(d[84]), OUT(d[85]), OUT(d[86]), OUT(d[87]), OUT(d[88]), OUT(d[89]), OUT(d[90]), OUT(d[91]), OUT(d[92]), OUT(d[93]), OUT(d[94]), OUT(d[95]), OUT(d[96]), OUT(d[97]), OUT(d[98]), OUT(d[99]), OUT(d[100]), OUT(d[101]), OUT(d[102]), OUT(d[103]), OUT(d[104]), OUT(d[105]), OUT(d[106]), OUT(d[107]), OUT(d[108]), OUT(d[109]), OUT(d[110]), OUT(d[111]), OUT(d[112]), OUT(d[113]), OUT(d[114]), OUT(d[115]), OUT(d[116]), OUT(d[117]), OUT(d[118]), OUT(d[119]), OUT(d[120]), OUT(d[121]), OUT(d[122]), OUT(d[123]), OUT(d[124]), OUT(d[125]), OUT(d[126]), OUT(d[127])
template <MmaShape S>
JFA_DEVICE void wgmma_ss(float (&d)[128], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_SS(256, "bf16", JFA_WRITE, 128, 129, 130, 131, 132, 133, 134);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(256, "bf16", JFA_READ_WRITE, 128, 129, 130, 131, 132, 133, 134);
  else if constexpr (S.fresh) JFA_WGMMA_SS(256, "f16", JFA_WRITE, 128, 129, 130, 131, 132, 133, 134);
  else JFA_WGMMA_SS(256, "f16", JFA_READ_WRITE, 128, 129, 130, 131, 132, 133, 134);
}
template <MmaShape S>
JFA_DEVICE void wgmma_rs(float (&d)[128], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16 && S.fresh) JFA_WGMMA_RS(256, "bf16", JFA_WRITE, 128, 129, 130, 131, 132, 133, 134, 135);
  else if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(256, "bf16", JFA_READ_WRITE, 128, 129, 130, 131, 132, 133, 134, 135);
  else if constexpr (S.fresh) JFA_WGMMA_RS(256, "f16", JFA_WRITE, 128, 129, 130, 131, 132, 133, 134, 135);
  else JFA_WGMMA_RS(256, "f16", JFA_READ_WRITE, 128, 129, 130, 131, 132, 133, 134, 135);
}
#undef JFA_LIST_256
#undef JFA_OUT_256

#undef JFA_READ_WRITE
#undef JFA_WRITE
#undef JFA_WGMMA_SS
#undef JFA_WGMMA_RS

}  // namespace jfa::inline JFA_BACKEND
// clang-format on
