// refused: failed deduction
#include "machine/machine.hpp"

template <jfa::Name N>
struct Named {};

template <auto N>
__device__ int length(Named<N>) {
  return sizeof(N.text);
}

__global__ void kernel(int* out) { out[0] = length(Named<"a">{}); }
