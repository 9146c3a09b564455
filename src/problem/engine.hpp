// What the public API asks of an engine.
#pragma once

#include <memory>

#include "problem/problem.hpp"

namespace jfa {

/// What an engine keeps in a Plan.
struct EnginePlan {
  virtual ~EnginePlan() = default;
};

/// Arguments are checked by src/problem before they come here. All functions may be called from
/// several threads at once.
class Engine {
 public:
  virtual ~Engine() = default;

  /// Whether the device is there, and can be used by the calling thread.
  virtual Status available() const = 0;

  virtual Status workspace_sizes(const Problem& problem, const Execution& execution,
                                 WorkspaceSizes& sizes) const = 0;

  virtual Status make_plan(const Problem& problem, const Execution& execution,
                           std::unique_ptr<EnginePlan>& plan) const = 0;

  /// `plan` is null or comes from this engine's make_plan.
  virtual Status forward(const Problem& problem, const ForwardOutputs& outputs,
                         const Execution& execution, const EnginePlan* plan) const = 0;
  virtual Status backward(const Problem& problem, const BackwardInputs& given,
                          const BackwardOutputs& outputs, const Execution& execution,
                          const EnginePlan* plan) const = 0;
};

/// The engine of a device; fails for an unknown device, and for one that is not built in.
Status find_engine(Device device, const Engine*& engine);

}  // namespace jfa
