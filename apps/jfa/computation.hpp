// A batch's output tensors and the calls that fill them.
#pragma once

#include <optional>

#include "batch/batch.hpp"
#include "jfa/attention.hpp"
#include "placement.hpp"

namespace jfa::tool {

/// Gradients that flow into the backward pass.
struct Gradients {
  HostTensor dout;                 ///< as out
  std::optional<HostTensor> dlse;  ///< as lse
};

/// Random gradients for a batch; dlse too where asked for.
Gradients random_gradients(const Batch& batch, bool with_dlse, std::uint64_t seed);

class Computation {
 public:
  /// The batch outlives this. `gradients` may be null: then only forward() may be called. Refuses
  /// what the library would refuse of the inputs, before any output is allocated.
  Computation(const Batch& batch, const Options& options, const Execution& execution,
              const Gradients* gradients);

  void forward();   ///< waits for the result
  void backward();  ///< after forward(); waits for the result

  /// Brings the results to the tensors below.
  void fetch() const { placement_.fetch(); }

  HostTensor out, lse;
  HostTensor dq, dk, dv;  ///< empty without gradients

 private:
  void place_inputs(const Batch& batch);
  void place_outputs(const Batch& batch, const Gradients* gradients);

  Placement placement_;
  Inputs inputs_;
  Options options_;
  Execution execution_;
  ForwardOutputs outputs_;
  BackwardInputs given_;
  BackwardOutputs gradients_;
};

}  // namespace jfa::tool
