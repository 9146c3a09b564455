// Written by generate_wgmma.py; do not edit.
// wgmma.mma_async m64nNk16, bf16 or fp16 to fp32, for every N: overloads by the accumulator's size.
// https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions-wgmma-mma
#pragma once

#include "machine/types.hpp"

// clang-format off
namespace jfa::inline JFA_BACKEND {

// The last arguments number the operands that follow the N / 2 accumulators.
#define JFA_WGMMA_SS(N, TYPE, A0, A1, B0, B1, P, TA, TB)                             \
  asm volatile("{.reg .pred p; .reg .b64 a, b; mov.b64 a, {%" #A0 ", %" #A1 "}; "    \
               "mov.b64 b, {%" #B0 ", %" #B1 "}; setp.ne.b32 p, %" #P ", 0; "        \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " "   \
               JFA_LIST_##N ", a, b, p, 1, 1, %" #TA ", %" #TB ";}"                  \
               : JFA_OUT_##N                                                         \
               : "r"(a.low), "r"(a.high), "r"(b.low), "r"(b.high), "r"(accumulate),  \
                 "n"(int{S.transpose_a}), "n"(int{S.transpose_b}))
#define JFA_WGMMA_RS(N, TYPE, A0, A1, A2, A3, B0, B1, P, TB)                         \
  asm volatile("{.reg .pred p; .reg .b64 b; mov.b64 b, {%" #B0 ", %" #B1 "}; "       \
               "setp.ne.b32 p, %" #P ", 0; "                                         \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " "   \
               JFA_LIST_##N ", {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, b, p, "     \
               "1, 1, %" #TB ";}"                                                    \
               : JFA_OUT_##N                                                         \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.low), "r"(b.high), \
                 "r"(accumulate), "n"(int{S.transpose_b}))


#define JFA_LIST_8 "{%0, %1, %2, %3}"
#define JFA_OUT_8 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[4], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(8, "bf16", 4, 5, 6, 7, 8, 9, 10);
  else JFA_WGMMA_SS(8, "f16", 4, 5, 6, 7, 8, 9, 10);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[4], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(8, "bf16", 4, 5, 6, 7, 8, 9, 10, 11);
  else JFA_WGMMA_RS(8, "f16", 4, 5, 6, 7, 8, 9, 10, 11);
}
#undef JFA_LIST_8
#undef JFA_OUT_8

#define JFA_LIST_16 "{%0, %1, %2, %3, %4, %5, %6, %7}"
#define JFA_OUT_16 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[8], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(16, "bf16", 8, 9, 10, 11, 12, 13, 14);
  else JFA_WGMMA_SS(16, "f16", 8, 9, 10, 11, 12, 13, 14);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[8], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(16, "bf16", 8, 9, 10, 11, 12, 13, 14, 15);
  else JFA_WGMMA_RS(16, "f16", 8, 9, 10, 11, 12, 13, 14, 15);
}
#undef JFA_LIST_16
#undef JFA_OUT_16

#define JFA_LIST_24 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11}"
#define JFA_OUT_24 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[12], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(24, "bf16", 12, 13, 14, 15, 16, 17, 18);
  else JFA_WGMMA_SS(24, "f16", 12, 13, 14, 15, 16, 17, 18);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[12], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(24, "bf16", 12, 13, 14, 15, 16, 17, 18, 19);
  else JFA_WGMMA_RS(24, "f16", 12, 13, 14, 15, 16, 17, 18, 19);
}
#undef JFA_LIST_24
#undef JFA_OUT_24

#define JFA_LIST_32 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"
#define JFA_OUT_32 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[16], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(32, "bf16", 16, 17, 18, 19, 20, 21, 22);
  else JFA_WGMMA_SS(32, "f16", 16, 17, 18, 19, 20, 21, 22);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[16], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(32, "bf16", 16, 17, 18, 19, 20, 21, 22, 23);
  else JFA_WGMMA_RS(32, "f16", 16, 17, 18, 19, 20, 21, 22, 23);
}
#undef JFA_LIST_32
#undef JFA_OUT_32

#define JFA_LIST_40 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19}"
#define JFA_OUT_40 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[20], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(40, "bf16", 20, 21, 22, 23, 24, 25, 26);
  else JFA_WGMMA_SS(40, "f16", 20, 21, 22, 23, 24, 25, 26);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[20], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(40, "bf16", 20, 21, 22, 23, 24, 25, 26, 27);
  else JFA_WGMMA_RS(40, "f16", 20, 21, 22, 23, 24, 25, 26, 27);
}
#undef JFA_LIST_40
#undef JFA_OUT_40

#define JFA_LIST_48 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23}"
#define JFA_OUT_48 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[24], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(48, "bf16", 24, 25, 26, 27, 28, 29, 30);
  else JFA_WGMMA_SS(48, "f16", 24, 25, 26, 27, 28, 29, 30);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[24], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(48, "bf16", 24, 25, 26, 27, 28, 29, 30, 31);
  else JFA_WGMMA_RS(48, "f16", 24, 25, 26, 27, 28, 29, 30, 31);
}
#undef JFA_LIST_48
#undef JFA_OUT_48

#define JFA_LIST_56 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27}"
#define JFA_OUT_56 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[28], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(56, "bf16", 28, 29, 30, 31, 32, 33, 34);
  else JFA_WGMMA_SS(56, "f16", 28, 29, 30, 31, 32, 33, 34);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[28], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(56, "bf16", 28, 29, 30, 31, 32, 33, 34, 35);
  else JFA_WGMMA_RS(56, "f16", 28, 29, 30, 31, 32, 33, 34, 35);
}
#undef JFA_LIST_56
#undef JFA_OUT_56

#define JFA_LIST_64 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define JFA_OUT_64 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[32], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(64, "bf16", 32, 33, 34, 35, 36, 37, 38);
  else JFA_WGMMA_SS(64, "f16", 32, 33, 34, 35, 36, 37, 38);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[32], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(64, "bf16", 32, 33, 34, 35, 36, 37, 38, 39);
  else JFA_WGMMA_RS(64, "f16", 32, 33, 34, 35, 36, 37, 38, 39);
}
#undef JFA_LIST_64
#undef JFA_OUT_64

#define JFA_LIST_72 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35}"
#define JFA_OUT_72 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[36], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(72, "bf16", 36, 37, 38, 39, 40, 41, 42);
  else JFA_WGMMA_SS(72, "f16", 36, 37, 38, 39, 40, 41, 42);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[36], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(72, "bf16", 36, 37, 38, 39, 40, 41, 42, 43);
  else JFA_WGMMA_RS(72, "f16", 36, 37, 38, 39, 40, 41, 42, 43);
}
#undef JFA_LIST_72
#undef JFA_OUT_72

#define JFA_LIST_80 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39}"
#define JFA_OUT_80 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[40], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(80, "bf16", 40, 41, 42, 43, 44, 45, 46);
  else JFA_WGMMA_SS(80, "f16", 40, 41, 42, 43, 44, 45, 46);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[40], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(80, "bf16", 40, 41, 42, 43, 44, 45, 46, 47);
  else JFA_WGMMA_RS(80, "f16", 40, 41, 42, 43, 44, 45, 46, 47);
}
#undef JFA_LIST_80
#undef JFA_OUT_80

#define JFA_LIST_88 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43}"
#define JFA_OUT_88 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[44], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(88, "bf16", 44, 45, 46, 47, 48, 49, 50);
  else JFA_WGMMA_SS(88, "f16", 44, 45, 46, 47, 48, 49, 50);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[44], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(88, "bf16", 44, 45, 46, 47, 48, 49, 50, 51);
  else JFA_WGMMA_RS(88, "f16", 44, 45, 46, 47, 48, 49, 50, 51);
}
#undef JFA_LIST_88
#undef JFA_OUT_88

#define JFA_LIST_96 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47}"
#define JFA_OUT_96 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[48], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(96, "bf16", 48, 49, 50, 51, 52, 53, 54);
  else JFA_WGMMA_SS(96, "f16", 48, 49, 50, 51, 52, 53, 54);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[48], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(96, "bf16", 48, 49, 50, 51, 52, 53, 54, 55);
  else JFA_WGMMA_RS(96, "f16", 48, 49, 50, 51, 52, 53, 54, 55);
}
#undef JFA_LIST_96
#undef JFA_OUT_96

#define JFA_LIST_104 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51}"
#define JFA_OUT_104 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[52], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(104, "bf16", 52, 53, 54, 55, 56, 57, 58);
  else JFA_WGMMA_SS(104, "f16", 52, 53, 54, 55, 56, 57, 58);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[52], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(104, "bf16", 52, 53, 54, 55, 56, 57, 58, 59);
  else JFA_WGMMA_RS(104, "f16", 52, 53, 54, 55, 56, 57, 58, 59);
}
#undef JFA_LIST_104
#undef JFA_OUT_104

#define JFA_LIST_112 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55}"
#define JFA_OUT_112 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[56], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(112, "bf16", 56, 57, 58, 59, 60, 61, 62);
  else JFA_WGMMA_SS(112, "f16", 56, 57, 58, 59, 60, 61, 62);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[56], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(112, "bf16", 56, 57, 58, 59, 60, 61, 62, 63);
  else JFA_WGMMA_RS(112, "f16", 56, 57, 58, 59, 60, 61, 62, 63);
}
#undef JFA_LIST_112
#undef JFA_OUT_112

#define JFA_LIST_120 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59}"
#define JFA_OUT_120 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[60], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(120, "bf16", 60, 61, 62, 63, 64, 65, 66);
  else JFA_WGMMA_SS(120, "f16", 60, 61, 62, 63, 64, 65, 66);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[60], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(120, "bf16", 60, 61, 62, 63, 64, 65, 66, 67);
  else JFA_WGMMA_RS(120, "f16", 60, 61, 62, 63, 64, 65, 66, 67);
}
#undef JFA_LIST_120
#undef JFA_OUT_120

#define JFA_LIST_128 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"
#define JFA_OUT_128 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[64], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(128, "bf16", 64, 65, 66, 67, 68, 69, 70);
  else JFA_WGMMA_SS(128, "f16", 64, 65, 66, 67, 68, 69, 70);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[64], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(128, "bf16", 64, 65, 66, 67, 68, 69, 70, 71);
  else JFA_WGMMA_RS(128, "f16", 64, 65, 66, 67, 68, 69, 70, 71);
}
#undef JFA_LIST_128
#undef JFA_OUT_128

#define JFA_LIST_136 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67}"
#define JFA_OUT_136 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[68], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(136, "bf16", 68, 69, 70, 71, 72, 73, 74);
  else JFA_WGMMA_SS(136, "f16", 68, 69, 70, 71, 72, 73, 74);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[68], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(136, "bf16", 68, 69, 70, 71, 72, 73, 74, 75);
  else JFA_WGMMA_RS(136, "f16", 68, 69, 70, 71, 72, 73, 74, 75);
}
#undef JFA_LIST_136
#undef JFA_OUT_136

#define JFA_LIST_144 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71}"
#define JFA_OUT_144 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[72], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(144, "bf16", 72, 73, 74, 75, 76, 77, 78);
  else JFA_WGMMA_SS(144, "f16", 72, 73, 74, 75, 76, 77, 78);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[72], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(144, "bf16", 72, 73, 74, 75, 76, 77, 78, 79);
  else JFA_WGMMA_RS(144, "f16", 72, 73, 74, 75, 76, 77, 78, 79);
}
#undef JFA_LIST_144
#undef JFA_OUT_144

#define JFA_LIST_152 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75}"
#define JFA_OUT_152 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[76], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(152, "bf16", 76, 77, 78, 79, 80, 81, 82);
  else JFA_WGMMA_SS(152, "f16", 76, 77, 78, 79, 80, 81, 82);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[76], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(152, "bf16", 76, 77, 78, 79, 80, 81, 82, 83);
  else JFA_WGMMA_RS(152, "f16", 76, 77, 78, 79, 80, 81, 82, 83);
}
#undef JFA_LIST_152
#undef JFA_OUT_152

#define JFA_LIST_160 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79}"
#define JFA_OUT_160 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[80], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(160, "bf16", 80, 81, 82, 83, 84, 85, 86);
  else JFA_WGMMA_SS(160, "f16", 80, 81, 82, 83, 84, 85, 86);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[80], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(160, "bf16", 80, 81, 82, 83, 84, 85, 86, 87);
  else JFA_WGMMA_RS(160, "f16", 80, 81, 82, 83, 84, 85, 86, 87);
}
#undef JFA_LIST_160
#undef JFA_OUT_160

#define JFA_LIST_168 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83}"
#define JFA_OUT_168 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[84], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(168, "bf16", 84, 85, 86, 87, 88, 89, 90);
  else JFA_WGMMA_SS(168, "f16", 84, 85, 86, 87, 88, 89, 90);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[84], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(168, "bf16", 84, 85, 86, 87, 88, 89, 90, 91);
  else JFA_WGMMA_RS(168, "f16", 84, 85, 86, 87, 88, 89, 90, 91);
}
#undef JFA_LIST_168
#undef JFA_OUT_168

#define JFA_LIST_176 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87}"
#define JFA_OUT_176 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[88], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(176, "bf16", 88, 89, 90, 91, 92, 93, 94);
  else JFA_WGMMA_SS(176, "f16", 88, 89, 90, 91, 92, 93, 94);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[88], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(176, "bf16", 88, 89, 90, 91, 92, 93, 94, 95);
  else JFA_WGMMA_RS(176, "f16", 88, 89, 90, 91, 92, 93, 94, 95);
}
#undef JFA_LIST_176
#undef JFA_OUT_176

#define JFA_LIST_184 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91}"
#define JFA_OUT_184 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[92], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(184, "bf16", 92, 93, 94, 95, 96, 97, 98);
  else JFA_WGMMA_SS(184, "f16", 92, 93, 94, 95, 96, 97, 98);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[92], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(184, "bf16", 92, 93, 94, 95, 96, 97, 98, 99);
  else JFA_WGMMA_RS(184, "f16", 92, 93, 94, 95, 96, 97, 98, 99);
}
#undef JFA_LIST_184
#undef JFA_OUT_184

#define JFA_LIST_192 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95}"
#define JFA_OUT_192 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[96], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(192, "bf16", 96, 97, 98, 99, 100, 101, 102);
  else JFA_WGMMA_SS(192, "f16", 96, 97, 98, 99, 100, 101, 102);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[96], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(192, "bf16", 96, 97, 98, 99, 100, 101, 102, 103);
  else JFA_WGMMA_RS(192, "f16", 96, 97, 98, 99, 100, 101, 102, 103);
}
#undef JFA_LIST_192
#undef JFA_OUT_192

#define JFA_LIST_200 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99}"
#define JFA_OUT_200 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[100], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(200, "bf16", 100, 101, 102, 103, 104, 105, 106);
  else JFA_WGMMA_SS(200, "f16", 100, 101, 102, 103, 104, 105, 106);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[100], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(200, "bf16", 100, 101, 102, 103, 104, 105, 106, 107);
  else JFA_WGMMA_RS(200, "f16", 100, 101, 102, 103, 104, 105, 106, 107);
}
#undef JFA_LIST_200
#undef JFA_OUT_200

#define JFA_LIST_208 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103}"
#define JFA_OUT_208 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[104], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(208, "bf16", 104, 105, 106, 107, 108, 109, 110);
  else JFA_WGMMA_SS(208, "f16", 104, 105, 106, 107, 108, 109, 110);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[104], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(208, "bf16", 104, 105, 106, 107, 108, 109, 110, 111);
  else JFA_WGMMA_RS(208, "f16", 104, 105, 106, 107, 108, 109, 110, 111);
}
#undef JFA_LIST_208
#undef JFA_OUT_208

#define JFA_LIST_216 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107}"
#define JFA_OUT_216 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[108], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(216, "bf16", 108, 109, 110, 111, 112, 113, 114);
  else JFA_WGMMA_SS(216, "f16", 108, 109, 110, 111, 112, 113, 114);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[108], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(216, "bf16", 108, 109, 110, 111, 112, 113, 114, 115);
  else JFA_WGMMA_RS(216, "f16", 108, 109, 110, 111, 112, 113, 114, 115);
}
#undef JFA_LIST_216
#undef JFA_OUT_216

#define JFA_LIST_224 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111}"
#define JFA_OUT_224 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[112], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(224, "bf16", 112, 113, 114, 115, 116, 117, 118);
  else JFA_WGMMA_SS(224, "f16", 112, 113, 114, 115, 116, 117, 118);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[112], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(224, "bf16", 112, 113, 114, 115, 116, 117, 118, 119);
  else JFA_WGMMA_RS(224, "f16", 112, 113, 114, 115, 116, 117, 118, 119);
}
#undef JFA_LIST_224
#undef JFA_OUT_224

#define JFA_LIST_232 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115}"
#define JFA_OUT_232 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[116], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(232, "bf16", 116, 117, 118, 119, 120, 121, 122);
  else JFA_WGMMA_SS(232, "f16", 116, 117, 118, 119, 120, 121, 122);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[116], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(232, "bf16", 116, 117, 118, 119, 120, 121, 122, 123);
  else JFA_WGMMA_RS(232, "f16", 116, 117, 118, 119, 120, 121, 122, 123);
}
#undef JFA_LIST_232
#undef JFA_OUT_232

#define JFA_LIST_240 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119}"
#define JFA_OUT_240 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[120], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(240, "bf16", 120, 121, 122, 123, 124, 125, 126);
  else JFA_WGMMA_SS(240, "f16", 120, 121, 122, 123, 124, 125, 126);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[120], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(240, "bf16", 120, 121, 122, 123, 124, 125, 126, 127);
  else JFA_WGMMA_RS(240, "f16", 120, 121, 122, 123, 124, 125, 126, 127);
}
#undef JFA_LIST_240
#undef JFA_OUT_240

#define JFA_LIST_248 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123}"
#define JFA_OUT_248 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[124], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(248, "bf16", 124, 125, 126, 127, 128, 129, 130);
  else JFA_WGMMA_SS(248, "f16", 124, 125, 126, 127, 128, 129, 130);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[124], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(248, "bf16", 124, 125, 126, 127, 128, 129, 130, 131);
  else JFA_WGMMA_RS(248, "f16", 124, 125, 126, 127, 128, 129, 130, 131);
}
#undef JFA_LIST_248
#undef JFA_OUT_248

#define JFA_LIST_256 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}"
#define JFA_OUT_256 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[128], MmaDescriptor a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_SS(256, "bf16", 128, 129, 130, 131, 132, 133, 134);
  else JFA_WGMMA_SS(256, "f16", 128, 129, 130, 131, 132, 133, 134);
}
template <MmaShape S>
JFA_DEVICE void wgmma_k16(float (&d)[128], const std::uint32_t* a, MmaDescriptor b, int accumulate) {
  if constexpr (S.type == ElementType::Bf16) JFA_WGMMA_RS(256, "bf16", 128, 129, 130, 131, 132, 133, 134, 135);
  else JFA_WGMMA_RS(256, "f16", 128, 129, 130, 131, 132, 133, 134, 135);
}
#undef JFA_LIST_256
#undef JFA_OUT_256

#undef JFA_WGMMA_SS
#undef JFA_WGMMA_RS

}  // namespace jfa::inline JFA_BACKEND
// clang-format on
