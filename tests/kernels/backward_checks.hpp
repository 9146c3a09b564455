// Checks of the backward kernels against the fp64 reference, for any machine. For what a Device is,
// see machine/sample_checks.hpp.
#pragma once

#include "kernels/backward/by_queries.hpp"
#include "kernels/backward/of_keys.hpp"
#include "kernels/backward/of_queries.hpp"
#include "kernels/backward/prepare.hpp"
#include "kernels/forward_checks.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

struct Gradients {
  std::vector<double> dq, dk, dv;  // [rows, heads, head_dim]
};

/// Gradients into the outputs, of a batch.
struct OutputGradients {
  HostTensor dout;
  std::optional<HostTensor> dlse;
};

inline OutputGradients random_gradients(const Problem& problem, DType dtype, std::uint64_t seed,
                                        bool with_dlse) {
  OutputGradients result;
  result.dout =
      random_tensor(dtype, {problem.out_rows, problem.heads_q, problem.head_dim}, seed + 100);
  if (with_dlse) {
    result.dlse = random_tensor(DType::kF32, {problem.heads_q, problem.out_rows}, seed + 200);
  }
  return result;
}

/// The kernels of dQ and of dK and dV, where these are made apart.
template <class Q, class K>
struct TwoKernels {
  using OfQueries = Q;
  using OfKeys = K;
  using T = typename K::T;
};

/// The same, and before them one for sequences of few queries.
template <class F, class Q, class K>
struct ThreeKernels : TwoKernels<Q, K> {
  using OfFew = F;
};

/// Those of one configuration, as launched.
template <class M, int HeadDim, bool Half, template <class> class Mask,
          template <class> class Scores>
struct ApartKernels {
  static constexpr bool kMore = Mask<M>::kListed;
  static constexpr ForwardConfig kOfQueries = of_queries_config(HeadDim, Half, kMore);
  static constexpr BackwardConfig kOfKeys = of_keys_config(HeadDim, Half, Scores<M>::kBends);
  using Kernels = TwoKernels<BackwardOfQueries<M, kOfQueries, Mask, Scores>,
                             BackwardOfKeys<M, kOfKeys, Mask, Scores>>;
};
template <class M, int HeadDim, bool Half, template <class> class Mask,
          template <class> class Scores>
using DqApartOn = typename ApartKernels<M, HeadDim, Half, Mask, Scores>::Kernels;

/// The same beside one for sequences of up to so many queries.
template <class M, int HeadDim, int Queries, bool Half, template <class> class Mask>
using FewOn =
    ThreeKernels<BackwardByQueries<M, by_queries_config(HeadDim, Queries, Half, false), Mask>,
                 typename DqApartOn<M, HeadDim, Half, Mask, ScaledScores>::OfQueries,
                 typename DqApartOn<M, HeadDim, Half, Mask, ScaledScores>::OfKeys>;

/// Runs the passes of the backward kernel K on `blocks` blocks, outputs and scratch poisoned
/// before.
template <class Device, class T>
class BackwardRun {
 public:
  using M = typename Device::M;

  BackwardRun(Device& device, const Batch& batch, const Problem& problem,
              const OutputGradients& gradients, const reference::ForwardResult& forward, int blocks)
      : device_(device), problem_(problem) {
    const auto heads_q = static_cast<int>(problem.heads_q);
    const auto heads_kv = static_cast<int>(problem.heads_kv);
    const auto dim = problem.head_dim;
    const auto matrix = [&](T* data, int heads) { return Matrix<T>{data, heads * dim, dim}; };
    const auto count = [&](std::int64_t rows, int heads) {
      return static_cast<std::size_t>(rows * heads * dim);
    };
    std::vector<float> lse(forward.lse.begin(), forward.lse.end());
    std::vector<T> out;
    constexpr HalfFormat kFormat = kElementType<T> == ElementType::Bf16 ? kBf16Format : kF16Format;
    for (const double x : forward.out) {
      out.push_back({encode_half(static_cast<float>(x), kFormat)});
    }
    const std::int64_t tiles = statistics_tiles(problem.out_rows, problem.batch);
    BackwardArguments<T>& a = arguments_;
    a.q = matrix(device.upload(elements_of<T>(batch.q)), heads_q);
    a.k = matrix(device.upload(elements_of<T>(batch.k)), heads_kv);
    a.v = matrix(device.upload(elements_of<T>(batch.v)), heads_kv);
    a.out = matrix(device.upload(out), heads_q);
    a.dout = matrix(device.upload(elements_of<T>(gradients.dout)), heads_q);
    a.dq = matrix(device.template poisoned<T>(count(problem.q.rows, heads_q)), heads_q);
    a.dk = matrix(device.template poisoned<T>(count(problem.k.rows, heads_kv)), heads_kv);
    a.dv = matrix(device.template poisoned<T>(count(problem.k.rows, heads_kv)), heads_kv);
    a.lse = {device.upload(lse), problem.out_rows};
    a.dlse = {gradients.dlse ? device.upload(elements_of<float>(*gradients.dlse)) : nullptr,
              problem.out_rows};
    a.heads_q = heads_q;
    a.heads_kv = heads_kv;
    a.head_dim = static_cast<int>(dim);
    a.window = problem.window;
    a.softmax_scale = problem.softmax_scale;
    a.softcap = problem.softcap;
    a.q_rows = {upload_indices(device, present(batch.q_offsets)),
                upload_indices(device, present(batch.q_lengths)), static_cast<int>(problem.q.rows)};
    a.kv_rows = {upload_indices(device, &batch.kv_offsets),
                 upload_indices(device, present(batch.kv_lengths)),
                 static_cast<int>(problem.k.rows)};
    a.batch = static_cast<int>(problem.batch);
    a.ticket = device.template scratch<int>(1);
    a.statistics = device.template scratch<float>(
        static_cast<std::size_t>(heads_q * tiles * 2 * kStatisticsRows));
    a.dq_sum = device.template scratch<float>(
        static_cast<std::size_t>(summed_size(problem.q.rows, heads_q, static_cast<int>(dim))));
    a.blocks = blocks;
  }

  template <class K>
  void compute(bool deterministic = false) {
    if constexpr (requires { typename K::OfFew; }) few<typename K::OfFew, typename K::OfKeys>();
    if constexpr (requires { typename K::OfQueries; }) {
      apart<typename K::OfQueries, typename K::OfKeys>();
    } else {
      by_keys<K>(deterministic);
    }
  }

  template <class K>
  void by_keys(bool deterministic = false) {
    const int blocks = arguments_.blocks;
    if (deterministic) {
      const auto tiles = arguments_.head_tiles() * arguments_.heads_q;
      arguments_.turns = device_.template scratch<int>(static_cast<std::size_t>(tiles));
    }
    arguments_.dq_kept =
        device_.template scratch<float>(static_cast<std::size_t>(K::kept_size(arguments_)));
    arguments_.handed =
        device_.template scratch<int>(static_cast<std::size_t>(arguments_.counts()));
    arguments_.plan = plan(K::item_shape(arguments_));
    device_.template launch<PrepareBackward<K>>(blocks, RowPass<K>::of(arguments_));
    device_.template launch<K>(blocks, K::make_params(arguments_));
    device_.template launch<FinishBackward<K>>(blocks, RowPass<K>::of(arguments_));
  }

  /// Sequences of few queries by kernel F, which apart() then leaves alone, with its plan by keys.
  template <class F, class K>
  void few() {
    arguments_.few_queries = F::C.queries;
    arguments_.plan = plan(K::item_shape(arguments_));
    device_.template launch<PrepareBackward<F>>(arguments_.blocks, RowPass<F>::of(arguments_));
    device_.template launch<F>(arguments_.blocks, F::make_params(arguments_));
  }

  /// dQ by kernel Q, then dK and dV by kernel K.
  template <class Q, class K>
  void apart() {
    ItemShape shape = Q::item_shape(arguments_.heads_q, arguments_.heads_kv);
    shape.few_queries = arguments_.few_queries;
    arguments_.plan_by_queries = plan(shape);
    arguments_.plan = plan(K::item_shape(arguments_));
    arguments_.ticket = device_.template zeroed<int>(1);
    device_.template launch<Q>(arguments_.blocks, Q::make_params(arguments_));
    device_.template launch<K>(arguments_.blocks, K::make_params(arguments_));
  }

  /// What is left in dq_sum.
  std::vector<float> sums() {
    return device_.download(arguments_.dq_sum,
                            static_cast<std::size_t>(summed_size(
                                arguments_.q_rows.rows, arguments_.heads_q, arguments_.head_dim)));
  }

  Gradients gradients() {
    return {download(arguments_.dq, problem_.q.rows, problem_.heads_q),
            download(arguments_.dk, problem_.k.rows, problem_.heads_kv),
            download(arguments_.dv, problem_.k.rows, problem_.heads_kv)};
  }

 private:
  template <class Shape>
  PlannedSequence* plan(const Shape& shape) {
    using Plan = Planner<M, Shape>;
    PlannedSequence* to = device_.template zeroed<PlannedSequence>(
        static_cast<std::size_t>(plan_records(arguments_.batch)));
    Plan::make(
        {.q = arguments_.q_rows,
         .kv = arguments_.kv_rows,
         .batch = arguments_.batch,
         .shape = shape,
         .plan = to},
        [&](int tiles, const auto& params) { device_.template launch<Plan>(tiles, params); });
    return to;
  }

  std::vector<double> download(const Matrix<T>& from, std::int64_t rows, std::int64_t heads) {
    constexpr HalfFormat kFormat = kElementType<T> == ElementType::Bf16 ? kBf16Format : kF16Format;
    const auto count = static_cast<std::size_t>(rows * heads * problem_.head_dim);
    std::vector<double> values;
    for (const T x : device_.download(from.data, count)) {
      values.push_back(decode_half(x.bits, kFormat));
    }
    return values;
  }

  Device& device_;
  const Problem& problem_;
  BackwardArguments<T> arguments_ = {};
};

/// What is off, or nothing. P, dS and gradients are rounded to 16 bits: the error of all values is
/// measured against their size, that of one against the size of the values around it.
inline std::string compare_gradients(const char* name, const std::vector<double>& got,
                                     const std::vector<double>& want, bool half) {
  double squares = 0;
  double errors = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    squares += want[i] * want[i];
    errors += (got[i] - want[i]) * (got[i] - want[i]);
  }
  const auto count = static_cast<double>(std::max<std::size_t>(want.size(), 1));
  const double typical = std::max(0.5, std::sqrt(squares / count));
  const double rounding = half ? 0.008 : 0.06;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!(std::abs(got[i] - want[i]) <= rounding * (std::abs(want[i]) + typical) + 1e-6)) {
      return std::string(name) + " " + std::to_string(i) + " is " + std::to_string(got[i]) +
             ", expected " + std::to_string(want[i]);
    }
  }
  const double allowed = half ? 0.001 : 0.006;
  const double error = std::sqrt(errors / count);
  if (error <= allowed * typical) return "";
  return std::string(name) + " is off by " + std::to_string(error) + " on average, at values of " +
         std::to_string(typical);
}

inline std::string compare_gradients(const Gradients& got, const reference::BackwardResult& want,
                                     bool half) {
  for (const std::string& error : {compare_gradients("dq", got.dq, want.dq, half),
                                   compare_gradients("dk", got.dk, want.dk, half),
                                   compare_gradients("dv", got.dv, want.dv, half)}) {
    if (!error.empty()) return error;
  }
  return "";
}

struct BackwardOptions {
  std::optional<double> scale = std::nullopt;
  double softcap = 0;
  bool dlse = false;
  bool deterministic = false;
};

template <class K, class Device>
void check_backward(Device& device, const Batch& batch, DType dtype, int blocks, std::uint64_t seed,
                    const BackwardOptions& options = {}) {
  Options given;
  given.mask = batch.mask();
  given.softmax_scale = options.scale;
  given.softcap = options.softcap;
  Problem problem;
  const Status status = check_inputs(batch.inputs(), given, {}, problem);
  ASSERT_TRUE(status.ok()) << status.message();
  const OutputGradients gradients = random_gradients(problem, dtype, seed, options.dlse);
  const reference::ForwardResult forward = reference::forward(problem);
  BackwardRun<Device, typename K::T> run(device, batch, problem, gradients, forward, blocks);
  run.template compute<K>(options.deterministic);
  ConstLseView dlse;
  if (options.dlse) dlse = std::as_const(*gradients.dlse).lse_view();
  const auto want =
      reference::backward(problem, gradients.dout.view(), options.dlse ? &dlse : nullptr);
  EXPECT_EQ(compare_gradients(run.gradients(), want, dtype == DType::kF16), "");
}

template <class K, class Device>
void check_backward(Device& device, const Case& c, int blocks, std::uint64_t seed,
                    const BackwardOptions& options = {}) {
  check_backward<K>(device, make_batch(c, seed), c.dtype, blocks, seed, options);
}

}  // namespace JFA_BACKEND
}  // namespace jfa
