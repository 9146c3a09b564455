// What the contract suite asks of an engine. Every engine is held to the same tests: it is enough
// to implement this interface and to add it to engines().
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "jfa/attention.hpp"

namespace jfa::contract {

/// What an engine takes.
struct Limits {
  bool fp32 = true;
  bool fp16 = true;
  bool softcap = true;
  bool block_sparse = true;
  std::int64_t head_dim_multiple = 1;
  std::int64_t max_head_dim = 256;
  std::int64_t max_backward_head_dim = 256;
  std::int64_t max_backward_capped_head_dim = 256;  ///< with a softcap
  std::int64_t max_backward_listed_head_dim = 256;  ///< with a block-sparse mask
  std::int64_t stride_multiple =
      1;  ///< of strides and of the distance of tensors in one allocation
  /// What it computes in a second is a thousandth of what others do: tests cover less.
  bool slow = false;
};

inline bool takes(const Limits& limits, DType dtype) {
  return (limits.fp32 || dtype != DType::kF32) && (limits.fp16 || dtype != DType::kF16);
}

/// One way to make a call. All ways of an engine give bitwise equal results.
struct Way {
  std::string name;
  int threads = 0;
  bool workspace = false;  ///< supplied by the caller, holding NaN; otherwise null
  bool plan = false;       ///< made before the call
  bool stream = false;     ///< on a stream of its own
  bool check = false;      ///< offsets and plan are checked on the device
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual std::string name() const = 0;
  virtual Limits limits() const = 0;

  /// Why it cannot run here; empty where it can.
  virtual std::string unavailable() const { return ""; }

  /// Error that rounding P and dS to the tensors' type adds to a result, relative to the result's
  /// root mean square; 0 for an engine that keeps them in fp32.
  virtual double operand_rounding(DType dtype) const = 0;

  /// Error of its fp32 arithmetic, relative to the size of what is computed.
  virtual double noise() const { return 2e-6; }

  virtual std::vector<Way> ways() const = 0;

  /// Everything lies in host memory. Outputs hold NaN.
  virtual void forward(const Inputs& inputs, const Options& options, const ForwardOutputs& outputs,
                       const Way& way) const = 0;
  virtual void backward(const Inputs& inputs, const Options& options, const BackwardInputs& given,
                        const BackwardOutputs& outputs, const Way& way) const = 0;
};

/// The engines that this program tests.
const std::vector<const Engine*>& engines();

/// A test of one engine, skipped where that cannot run.
class EngineTest : public testing::TestWithParam<const Engine*> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam()->unavailable(); !why.empty()) GTEST_SKIP() << why;
  }
};

/// Names the tests of a suite over engines().
inline std::string engine_name(const testing::TestParamInfo<const Engine*>& info) {
  return info.param->name();
}

/// What a failing test prints in place of the engine's address.
// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for this name
inline void PrintTo(const Engine* engine, std::ostream* os) { *os << engine->name(); }

}  // namespace jfa::contract
