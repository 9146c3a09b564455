// What the machine is and what it can do at most.
#pragma once

#include <cstddef>
#include <string>

namespace jfa::tool {

std::string cpu_model();
std::string compiler();
std::size_t
last_cache_bytes();  ///< of the last cache level; a guess where the system does not tell

/// Instruction set that run-time dispatch chooses, by Highway's name.
std::string simd_target();

/// Highest rate of fp32 multiply-adds seen, in flops a second (two a multiply-add and lane), over
/// bursts on `threads` threads that touch no memory.
double measure_fp32_peak(int threads);

/// Highest rate seen, in bytes a second, of copying between buffers that no cache holds; bytes read
/// and bytes written both count.
double measure_copy_bandwidth(int threads);

}  // namespace jfa::tool
