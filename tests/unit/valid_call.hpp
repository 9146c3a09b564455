// A call with every argument there is, for tests to change one of.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "batch/batch.hpp"
#include "jfa/jfa.hpp"

namespace jfa {

/// A valid call: two sequences of 2 and 3 queries, 4 and 2 keys, 4 heads over 2, head_dim 8, with
/// every optional argument. Views may be changed at will; the tensors own the memory.
struct Call {
  HostTensor q{DType::kBf16, {5, 4, 8}}, k{DType::kBf16, {6, 2, 8}}, v{DType::kBf16, {6, 2, 8}};
  HostTensor q_offsets{DType::kI32, {3}}, kv_offsets{DType::kI64, {3}};
  HostTensor q_lengths{DType::kI32, {2}}, kv_lengths{DType::kI64, {2}};
  HostTensor row_offsets{DType::kI32, {3}}, columns{DType::kI64, {2}};
  HostTensor out{DType::kBf16, {5, 4, 8}}, lse{DType::kF32, {4, 5}};
  HostTensor dout{DType::kBf16, {5, 4, 8}}, dlse{DType::kF32, {4, 5}};
  HostTensor dq{DType::kBf16, {5, 4, 8}}, dk{DType::kBf16, {6, 2, 8}}, dv{DType::kBf16, {6, 2, 8}};
  HostTensor spare{DType::kF32, {4096}};  ///< valid memory for hostile views

  Inputs in;
  Options options;
  ForwardOutputs results;
  BackwardInputs given;
  BackwardOutputs gradients;
  Execution execution;

  Call() {
    for (HostTensor* t : tensors()) t->fill(std::nan(""));
    for (HostTensor* t : {&q, &k, &v, &dout, &dlse}) t->fill(1);
    set(q_offsets, {0, 2, 5});
    set(kv_offsets, {0, 4, 6});
    set(q_lengths, {2, 2});
    set(kv_lengths, {3, 2});
    set(row_offsets, {0, 1, 2});
    set(columns, {0, 0});
    in = {q.view(),
          k.view(),
          v.view(),
          kv_offsets.index_view(),
          q_offsets.index_view(),
          kv_lengths.index_view(),
          q_lengths.index_view()};
    options.mask.block_sparse =
        BlockSparse{64, 128, 1, row_offsets.index_view(), columns.index_view()};
    results = {out.view(), lse.lse_view()};
    given = {dout.view(), out.view(), lse.lse_view(), dlse.lse_view()};
    gradients = {dq.view(), dk.view(), dv.view()};
  }

  static void set(HostTensor& tensor, std::initializer_list<double> values) {
    std::int64_t i = 0;
    for (const double value : values) tensor.set(i++, value);
  }

  BlockSparse& blocks() { return *options.mask.block_sparse; }

  std::vector<HostTensor*> tensors() {
    return {&q,          &k,           &v,   &q_offsets, &kv_offsets, &q_lengths,
            &kv_lengths, &row_offsets, &out, &lse,       &dout,       &dlse,
            &dq,         &dk,          &dv,  &columns,   &spare};
  }

  std::string bytes() {
    std::string all;
    for (HostTensor* t : tensors()) {
      all.append(reinterpret_cast<const char*>(t->data()), t->bytes());
    }
    return all;
  }

  void forward() const { jfa::forward(in, options, results, execution); }
  void backward() const { jfa::backward(in, options, given, gradients, execution); }
  void plan() const { const Plan made(in, options, execution); }
  void sizes() const { workspace_sizes(in, options, execution); }
};

}  // namespace jfa
