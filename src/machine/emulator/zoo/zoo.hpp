// The zoo: tiny kernels with one planted bug each, and their clean twins. The emulator must flag
// every bug for its own reason and none of the twins.
#pragma once

#include <string>
#include <vector>

#include "machine/emulator/verify.hpp"

namespace jfa::emulator {

struct Specimen {
  std::string name;
  std::string origin;  // the public report it is distilled from, or what goes wrong
  FindingKind expected;
  Subject bug;
  Subject twin;
};

std::vector<Specimen> zoo();

// The zoo's parts, by what they misuse.
std::vector<Specimen> zoo_barriers();
std::vector<Specimen> zoo_copies();
std::vector<Specimen> zoo_mma();
std::vector<Specimen> zoo_threads();
std::vector<Specimen> zoo_global();
std::vector<Specimen> zoo_tensor();

}  // namespace jfa::emulator
