// How much work a case is, and how long it takes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "batch/batch.hpp"
#include "computation.hpp"

namespace jfa::tool {

enum class Direction { kForward, kBackward };
const char* name_of(Direction direction);  ///< "fwd", "bwd"

/// The least that a pass must do.
struct Work {
  double flops = 0;  ///< two products over unmasked pairs; backward counts 2.5 times that
  double bytes = 0;  ///< each input read once, each output written once
};
Work work_of(const Batch& batch, Direction direction);

/// Copies of one batch, so many that no cache holds them all: successive calls read memory.
class Workload {
 public:
  Workload(const Case& c, const Execution& execution, bool backward, std::uint64_t seed);

  const Batch& batch() const noexcept { return instances_.front()->batch; }
  std::size_t copies() const noexcept { return instances_.size(); }

  /// Call i of a series: copy i of the batch, counted in circles.
  void call(Direction direction, std::size_t i);

 private:
  struct Instance {
    Batch batch;
    Gradients gradients;
    std::unique_ptr<Computation> computation;
  };
  std::vector<std::unique_ptr<Instance>> instances_;
};

struct Timing {
  double median_ms = 0;
  double min_ms = 0;
  std::size_t repeats = 0;
  double host_us = 0;  ///< GPU: median time that a call takes the calling thread
  double plan_ms = 0;  ///< GPU: median time of making a plan, which the calls do not contain
};

/// Of at least one time.
double median(std::vector<double> times);

/// Copies of a batch, so many that a cache of so many bytes cannot hold them all when one pass
/// touches `bytes`.
std::size_t copies_past_cache(double bytes, std::size_t cache_bytes);

/// Times `call(i)`, i = 0, 1, ...: first for a fifth of `seconds` unmeasured, then for `seconds`,
/// at least three times.
Timing time_calls(const std::function<void(std::size_t)>& call, double seconds);

}  // namespace jfa::tool
