// A case on a GPU: tensors made there, times taken there.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cuda/card.hpp"
#include "placement.hpp"
#include "workload.hpp"

namespace jfa::tool {

/// Copies of one batch, so many that the L2 cannot hold them all, each with a plan made once. They
/// share a workspace, since their calls follow one another.
class GpuWorkload {
 public:
  /// With `backward` also what gradients need; the forward pass has run then.
  GpuWorkload(const Case& c, const Execution& execution, const cuda::Card& card, bool backward,
              bool deterministic, std::uint64_t seed);

  /// Shapes and indices; q, k and v hold nothing on the host.
  const Batch& batch() const noexcept { return batch_; }
  std::size_t copies() const noexcept { return instances_.size(); }

  /// Times calls with events of the stream, for about `seconds`, at least ten calls. With a `rest`
  /// above 0 the card idles so many times a call's time after each.
  Timing time(Direction direction, double seconds, double rest);

  /// Relative error of some rows of the last results, drawn at random, against fp64.
  double sampled_error(Direction direction) const;

 private:
  struct Instance {
    Inputs inputs;
    ForwardOutputs outputs;
    BackwardInputs given;
    BackwardOutputs gradients;
    std::optional<Plan> plan;
    Execution planning;
  };
  void add_instance(const Case& c, const Execution& execution, std::uint64_t seed);
  void add_gradients(const Case& c, Instance& instance, std::uint64_t seed);
  /// Room for the workspace that every copy needs.
  void add_workspace(const Execution& execution, bool backward);
  TensorView room_like(const ConstTensorView& view);
  ConstTensorView random_rows(const HostTensor& like, std::uint64_t seed);
  /// Enqueues; returns microseconds of the calling thread.
  double call(Direction direction, std::size_t i);
  double time_plan();
  double time_host(Direction direction, double call_ms);

  Batch batch_;
  Options options_;
  Placement placement_;
  Execution execution_;
  std::vector<std::unique_ptr<Instance>> instances_;
};

}  // namespace jfa::tool
