#include <cstdio>
#include <jfa/jfa.hpp>
#include <vector>

int main() {
  // Three sequences of 2, 0 and 3 tokens, 4 heads of 64, packed row after row.
  std::vector<float> q(5 * 4 * 64, 0.5F), k = q, v = q, out(q.size()), lse(4 * 5);
  std::vector<int> offsets{0, 2, 2, 5};
  const auto tensor = [](auto& t) { return jfa::packed(t.data(), jfa::DType::kF32, 5, 4, 64); };
  jfa::Inputs inputs{tensor(q), tensor(k), tensor(v), {offsets.data(), 4}};
  inputs.q_offsets = inputs.kv_offsets;  // leave it out, and all sequences share one dense q
  jfa::forward(inputs, {.mask = {.causal = true}}, {tensor(out), {lse.data(), 4, 5, 5}});
  std::printf("out[0] = %g, lse[0] = %g\n", out[0], lse[0]);
}
