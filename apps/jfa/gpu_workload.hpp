// A case on a GPU: tensors made there, times taken there.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cuda/card.hpp"
#include "placement.hpp"
#include "workload.hpp"

namespace jfa::tool {

/// Copies of one batch, so many that the L2 cannot hold them all, each with a plan made once.
class GpuWorkload {
 public:
  GpuWorkload(const Case& c, const Execution& execution, const cuda::Card& card,
              std::uint64_t seed);

  /// Shapes and indices; q, k and v hold nothing on the host.
  const Batch& batch() const noexcept { return batch_; }
  std::size_t copies() const noexcept { return instances_.size(); }

  /// Times forward calls with events of the stream, for about `seconds`, at least ten calls. With a
  /// `rest` above 0 the card idles so many times a call's time after each.
  Timing time_forward(double seconds, double rest);

  /// Relative error of some rows of the last results, drawn at random, against fp64.
  double sampled_error() const;

 private:
  struct Instance {
    Inputs inputs;
    ForwardOutputs outputs;
    Execution execution;
    std::optional<Plan> plan;
    Execution planning;
  };
  void add_instance(const Case& c, const Execution& execution, std::uint64_t seed);
  ConstTensorView random_rows(const HostTensor& like, std::uint64_t seed);
  double call(std::size_t i);  ///< enqueues; returns microseconds of the calling thread
  double time_plan();
  double time_host();

  Batch batch_;
  Options options_;
  Placement placement_;
  std::vector<std::unique_ptr<Instance>> instances_;
};

}  // namespace jfa::tool
