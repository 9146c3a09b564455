// Runs an engine on a scenario and holds what it writes to the fp64 oracle.
#pragma once

#include <string>
#include <vector>

#include "batch/batch.hpp"
#include "engine.hpp"
#include "layout.hpp"
#include "scenario.hpp"

namespace jfa::contract {

/// What a forward call wrote, into memory that held NaN.
struct Forward {
  explicit Forward(const Data& data);

  TensorGroup out_memory;
  HostTensor lse_memory;
  TensorView out;
  LseView lse;  ///< its heads lie one element further apart than they need be

  std::string bytes() const;
  bool padding_intact() const;

  /// NaN into out and lse of rows that no sequence uses: backward may not read them.
  void forget_unused_rows(const Data& data);
};

Forward run_forward(const Engine& engine, const Data& data, const Way& way);
/// Gradients full of NaN from an engine without a backward pass.
Trio run_backward(const Engine& engine, const Data& data, const Forward& forward, const Way& way);

/// Runs both passes and compares everything they write, padding included, with the oracle.
void expect_contract(const Engine& engine, const Data& data, const Way& way);

}  // namespace jfa::contract
