#include "machine/emulator/zoo/zoo.hpp"

#include <utility>

namespace jfa::emulator {

std::vector<Specimen> zoo() {
  std::vector<Specimen> all;
  for (auto* part :
       {&zoo_barriers, &zoo_copies, &zoo_mma, &zoo_threads, &zoo_global, &zoo_tensor}) {
    for (auto& one : part()) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace jfa::emulator
