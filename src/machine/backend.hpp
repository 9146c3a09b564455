// What differs between a build for the GPU and a build for the emulator before any word is defined:
// function qualifiers, the namespace of everything below, call sites and names.
#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(__CUDACC__) && !defined(__clang__)
#include <source_location>
#endif

// NOTE [backend namespace]: all of src/machine and src/kernels lives in this inline namespace,
// plain helpers included. A program that links both backings would otherwise hold two bodies of one
// inline function.
#ifdef __CUDACC__
#define JFA_BACKEND gpu
#define JFA_DEVICE __device__ __forceinline__
#define JFA_HOST_DEVICE __host__ __device__ __forceinline__
#define JFA_UNROLL _Pragma("unroll")
#else
#define JFA_BACKEND emulated
#define JFA_DEVICE inline
#define JFA_HOST_DEVICE inline
#define JFA_UNROLL
#endif

namespace jfa {
inline namespace JFA_BACKEND {

/// Where in a kernel a word was called. Every word that orders or moves data takes one as its last,
/// defaulted argument. Empty on the GPU.
#ifdef __CUDACC__
struct Site {
  static constexpr JFA_HOST_DEVICE Site here() { return {}; }
};
#elif defined(__clang__)
struct Site {
  const char* file;
  int line;
  int column;
  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE(),
                             int column = __builtin_COLUMN()) {
    return {file, line, column};
  }
};
#else
struct Site {
  const char* file;
  int line;
  int column;
  static constexpr Site here(std::source_location at = std::source_location::current()) {
    return {at.file_name(), static_cast<int>(at.line()), static_cast<int>(at.column())};
  }
};
#endif

/// The name of a ring, gate, turn or role, a template argument: `Gate<M, "q ready", ...>`.
/// NOTE [names]: nvcc takes a Name in no argument of a __global__ template and does not deduce one
/// as `auto`. So names are given explicitly and only handed on as template arguments.
struct Name {
  char text[24] = {};

  template <std::size_t Size>
  consteval Name(const char (&literal)[Size]) {
    static_assert(Size <= sizeof(text), "a name has at most 23 characters");
    for (std::size_t i = 0; i < Size; ++i) text[i] = literal[i];
  }
  constexpr bool operator==(const Name&) const = default;
};

}  // namespace JFA_BACKEND
}  // namespace jfa
