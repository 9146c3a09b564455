// The emulator as an engine: the kernels of the CUDA engine on emulated Hopper, every access
// checked. For small problems. Not part of the installed library.
#pragma once

#include "problem/engine.hpp"

namespace jfa {

/// Any finding of the emulator fails the call (kInternal, with the report).
const Engine& emulated_engine();

/// The same with the kernels of emulated Blackwell, which no public call reaches.
const Engine& emulated_blackwell_engine();

}  // namespace jfa
