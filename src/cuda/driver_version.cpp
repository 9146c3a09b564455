#include <cuda_runtime_api.h>

#include <fstream>
#include <string>

#include "cuda/card.hpp"

namespace jfa::cuda {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string driver_version() {
  std::ifstream file("/sys/module/nvidia/version");
  if (std::string text; file >> text) return text;
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) return "";
  return "CUDA " + version_text(version);
}

}  // namespace jfa::cuda
