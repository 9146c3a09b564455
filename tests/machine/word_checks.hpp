// Checks of the word kernels for any machine; see sample_checks.hpp for what a Device is.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "word_kernels.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

template <class Device>
void check_ping_pong(Device& device) {
  using Kernel = PingPong<typename Device::M>;
  const std::size_t count = 2 * Kernel::kRounds;
  int* out = device.template poisoned<int>(count);
  device.template launch<Kernel>(1, {out});
  const auto got = device.download(out, count);
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(got[i], static_cast<int>(i % 2));
}

template <class Device>
void check_bulk_swap(Device& device) {
  using Kernel = BulkSwap<typename Device::M>;
  const std::size_t count = Kernel::kCount;
  std::vector<float> in(2 * count);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * i % 1000);
  float* out = device.template poisoned<float>(2 * count);
  float* sum = device.template zeroed<float>(count);
  device.template launch<Kernel>(2, {device.upload(in), out, sum});
  const auto got = device.download(out, 2 * count);
  const auto added = device.download(sum, count);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(got[i], in[count + i]) << i;
    ASSERT_EQ(got[count + i], in[i]) << i;
    ASSERT_EQ(added[i], in[i] + in[count + i]) << i;
  }
}

template <class Device>
void check_generic_ring(Device& device) {
  using Kernel = GenericRing<typename Device::M>;
  int* out = device.template poisoned<int>(Kernel::kWidth);
  device.template launch<Kernel>(1, {out});
  const auto got = device.download(out, Kernel::kWidth);
  for (int i = 0; i < Kernel::kWidth; ++i) {
    const int want = Kernel::kSteps * i + Kernel::kSteps * (Kernel::kSteps - 1) / 2;
    ASSERT_EQ(got[static_cast<std::size_t>(i)], want) << i;
  }
}

template <class Device>
void check_blocks(Device& device, int blocks) {
  using Kernel = Blocks<typename Device::M>;
  int* out = device.template poisoned<int>(1);
  device.template launch<Kernel>(
      blocks, {device.template poisoned<int>(static_cast<std::size_t>(blocks)),
               device.template zeroed<int>(2), device.template poisoned<int>(1), out});
  ASSERT_EQ(device.download(out, 1)[0], blocks * (blocks + 1));
}

template <class Device>
void check_lanes(Device& device) {
  using Kernel = Lanes<typename Device::M>;
  int* out = device.template poisoned<int>(256);
  device.template launch<Kernel>(1, {out});
  const auto got = device.download(out, 256);
  for (int lane = 0; lane < 32; ++lane) {
    const int* mine = got.data() + 8 * lane;
    EXPECT_EQ(mine[0], 5);
    EXPECT_EQ(mine[1], (lane + 1) % 32);
    EXPECT_EQ(mine[2], lane ^ 16);
    EXPECT_EQ(mine[3], 1);
    EXPECT_EQ(mine[4], 0);
    EXPECT_EQ(static_cast<unsigned>(mine[5]), 0x11111111U);
    EXPECT_EQ(std::popcount(static_cast<unsigned>(mine[6])), 1);
    EXPECT_EQ(mine[7], 0);
  }
}

}  // namespace JFA_BACKEND
}  // namespace jfa
