// refused: __device_stub__
#include "machine/machine.hpp"

template <jfa::Name N>
__global__ void kernel(int* out) {
  out[0] = N.text[0];
}

void launch(int* out) { kernel<"a"><<<1, 1>>>(out); }
