// The GPUs of this machine, as the process sees them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "problem/status.hpp"

namespace jfa::cuda {

/// A GPU and whether kernels of this library run on it.
struct Card {
  int ordinal = 0;
  std::string name;  ///< "NVIDIA H200"
  int major = 0;     ///< compute capability
  int minor = 0;
  int processors = 0;  ///< multiprocessors
  std::size_t l2_bytes = 0;
  Status usable;
};

/// The calling thread's current device. Fails where there is none, or none that kernels run on.
/// Looked up once a device: cheap after that.
Status current_card(const Card*& card);

/// Every GPU; none where there is no driver.
std::vector<Card> all_cards();

/// "580.159.04" where the system tells, else the CUDA version that the driver is for; "" without.
std::string driver_version();

/// "13.0" for 13000, a version as CUDA tells it.
std::string version_text(int version);

}  // namespace jfa::cuda
