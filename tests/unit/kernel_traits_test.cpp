// Which of a build's backward kernels a problem gets.
#include "launch/kernel_traits.hpp"

#include <gtest/gtest.h>

namespace jfa {
namespace {

struct Kernel {
  static constexpr const char* kDirection = "backward";
  KernelTraits traits;
};

constexpr KernelTraits kByKeys = {.dtype = DType::kBf16,
                                  .head_dim = 128,
                                  .masked = true,
                                  .listed = false,
                                  .capped = false,
                                  .same_bits = false};

std::vector<Kernel> kernels() {
  std::vector<Kernel> all(4, Kernel{kByKeys});
  all[1].traits.apart = all[1].traits.same_bits = true;
  all[2].traits = all[1].traits;
  all[2].traits.few_from = 100;
  all[3].traits.same_bits = true;
  all[3].traits.shared_queries = 64;
  return all;
}

/// 100 sequences of so many queries and keys.
Problem problem_of(std::int64_t queries, std::int64_t keys) {
  Problem problem;
  problem.q.dtype = DType::kBf16;
  problem.batch = 100;
  problem.q.rows = 100 * queries;
  problem.k.rows = 100 * keys;
  problem.heads_q = problem.heads_kv = 2;
  problem.head_dim = 128;
  problem.window = {-1, -1};
  return problem;
}

/// The chosen one, as described behind what all share; or why there is none.
std::string chosen(const Problem& problem, const std::vector<Kernel>& from = kernels()) {
  const Kernel* kernel = nullptr;
  const Status status = choose(std::span<const Kernel>(from), problem, kernel);
  if (!status.ok()) return status.message();
  const std::string all = describe(kernel->traits);
  const std::string shared = "bf16 head_dim 128, masked";
  return all.substr(shared.size());
}

TEST(KernelChoice, ByKeysForLongSequences) {
  EXPECT_EQ(chosen(problem_of(2000, 2000)), ", deterministic with broadcast queries only");
}

TEST(KernelChoice, ApartForTheSameBitsAndSomeLengths) {
  Problem problem = problem_of(2000, 2000);
  problem.deterministic = true;
  EXPECT_EQ(chosen(problem), ", dq apart");
  EXPECT_EQ(chosen(problem_of(500, 500)), ", dq apart");
}

TEST(KernelChoice, FewQueriesOfManyKeys) {
  Problem problem = problem_of(60, 2000);
  EXPECT_EQ(chosen(problem), ", dq apart, few queries");
  problem.deterministic = true;
  EXPECT_EQ(chosen(problem), ", dq apart, few queries");
  problem.deterministic = false;
  problem.heads_q = 4;  // a group of heads adds up in dk
  EXPECT_NE(chosen(problem), ", dq apart, few queries");
  EXPECT_NE(chosen(problem_of(60, 200)), ", dq apart, few queries");
  EXPECT_NE(chosen(problem_of(200, 2000)), ", dq apart, few queries");
  problem = problem_of(60, 2000);
  problem.window.left = 5;
  EXPECT_NE(chosen(problem), ", dq apart, few queries");
  problem.window.left = -1;
  problem.batch = 49;  // too few tasks of two heads
  EXPECT_NE(chosen(problem), ", dq apart, few queries");
}

TEST(KernelChoice, AnotherForLongSequencesThatBlocksAddUp) {
  std::vector<Kernel> all = kernels();
  all.push_back(all[0]);
  all.back().traits.long_from = 1500;
  const std::string is_long = ", long, deterministic with broadcast queries only";
  Problem problem = problem_of(2000, 1500);
  EXPECT_EQ(chosen(problem, all), is_long);
  std::swap(all.front(), all.back());
  EXPECT_EQ(chosen(problem, all), is_long);
  EXPECT_NE(chosen(problem_of(2000, 1499), all), is_long);
  EXPECT_NE(chosen(problem_of(1499, 2000), all), is_long);  // few tiles for a block of keys
  for (const int keys : {749, 750}) {
    problem = problem_of(2000, keys);
    problem.window.right = 0;
    EXPECT_EQ(chosen(problem, all) == is_long, keys == 750);
  }
  problem = problem_of(0, 2000);
  problem.broadcast_q = true;
  problem.q.rows = 200'000;  // for each sequence
  EXPECT_NE(chosen(problem, all), is_long);
  problem = problem_of(2000, 2000);
  problem.deterministic = true;
  EXPECT_EQ(chosen(problem, all), ", dq apart");
}

TEST(KernelChoice, BroadcastQueries) {
  Problem problem = problem_of(0, 2000);
  problem.broadcast_q = true;
  problem.q.rows = 60;
  problem.deterministic = true;  // no matter
  EXPECT_EQ(chosen(problem), ", up to 64 broadcast queries");
  problem.q.rows = 300;
  EXPECT_EQ(chosen(problem), ", deterministic with broadcast queries only");
}

TEST(KernelChoice, NoKernelThatWouldNotKeepWhatIsAskedFor) {
  Problem problem = problem_of(2000, 2000);
  problem.deterministic = true;
  const std::vector<Kernel> only = {Kernel{kByKeys}};
  EXPECT_EQ(chosen(problem, only),
            "no backward kernel of this build takes bf16 with head_dim = 128, deterministic, must "
            "be one that takes at least that: bf16 head_dim 128, masked, deterministic with "
            "broadcast queries only");
}

}  // namespace
}  // namespace jfa
