// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/bootstrap/stripes.hpp"

#include <gtest/gtest.h>

#include <map>

namespace unisono::rendezvous {
namespace {

const std::vector<InterfaceAddress> kInterfaces{
    {"lo", "127.0.0.1", 8, true, true, true},
    {"eth0", "10.0.0.1", 24, true, false, true},
    {"fast0", "10.1.0.1", 24, true, false, true},
};

std::size_t proposed(const std::string& addresses, std::map<std::string, long> mbits,
                     StripeQuestion question = {}) {
  PeerRecord self;
  self.addresses = addresses;
  return stripes_for({}, self, kInterfaces, question,
                     [&](const std::string& interface) { return mbits[interface]; });
}

TEST(Stripes, OneWhereTheNetworkIsSlowOrUnknown) {
  EXPECT_EQ(proposed("127.0.0.1:1", {{"lo", 400'000}}), 1u);
  EXPECT_EQ(proposed("10.0.0.1:1", {{"eth0", 10'000}}), 1u);
  EXPECT_EQ(proposed("10.0.0.1:1", {}), 1u);
  EXPECT_EQ(proposed("10.0.0.1:1", {{"fast0", 100'000}}), 1u) << "not listening there";
  EXPECT_EQ(proposed("no address", {{"eth0", 100'000}}), 1u);
}

TEST(Stripes, FourWhereItIsFast) {
  EXPECT_EQ(proposed("10.1.0.1:1", {{"fast0", 25'000}}), 5u);
  EXPECT_EQ(proposed("10.0.0.1:1,10.1.0.1:1", {{"eth0", 1'000}, {"fast0", 100'000}}), 5u);
  EXPECT_EQ(proposed("10.1.0.1:1", {{"fast0", 100'000}}, {.on_first_use = true}), 1u) << "ranks meet on first use";
}

TEST(Stripes, OverLoopbackWhereThereAreCoresForThem) {
  EXPECT_EQ(proposed("127.0.0.1:1", {}, {.ranks = 4, .cores = 16}), 5u);
  EXPECT_EQ(proposed("127.0.0.1:1", {}, {.ranks = 4, .cores = 15}), 1u);
  EXPECT_EQ(proposed("127.0.0.1:1", {}, {.on_first_use = true, .ranks = 4, .cores = 64}), 1u);
}

TEST(Stripes, TheOptionDecides) {
  Options options;
  for (int number = 1; number <= 8; ++number) {
    options.connections = number;
    EXPECT_EQ(stripes_for(options, {}, {}, {}), static_cast<std::size_t>(number));
  }
  ASSERT_TRUE(options.set("connections", "auto").ok());
  EXPECT_EQ(options.connections, -1);
  EXPECT_EQ(options.get("connections"), "auto");
  EXPECT_FALSE(options.set("connections", "0").ok());
  EXPECT_FALSE(options.set("connections", "9").ok());
  EXPECT_TRUE(options.set("io_threads", "0").ok());
  EXPECT_FALSE(options.set("io_threads", "9").ok());
}

TEST(Stripes, ThreadsOnlyWhereThereAreCoresForThem) {
  const Options options;
  EXPECT_EQ(io_threads_for(options, 1, 1, 64), 0u);
  EXPECT_EQ(io_threads_for(options, 4, 1, 3), 0u);
  EXPECT_EQ(io_threads_for(options, 4, 1, 4), 3u);
  EXPECT_EQ(io_threads_for(options, 5, 1, 64), 4u);
  EXPECT_EQ(io_threads_for(options, 4, 8, 31), 0u);
  EXPECT_EQ(io_threads_for(options, 5, 8, 32), 3u);
  // 2 and 4 ranks on 16 cores can spin beside their engines, 5 cannot.
  EXPECT_GT(io_spin_for(options, 4, 2, 16), Nanos(0));
  EXPECT_GT(io_spin_for(options, 3, 4, 16), Nanos(0));
  EXPECT_EQ(io_spin_for(options, 3, 5, 16), Nanos(0));
  EXPECT_EQ(io_spin_for(options, 0, 1, 64), Nanos(0));
  Options asked;
  ASSERT_TRUE(asked.set("spin_us", "7").ok());
  EXPECT_EQ(io_spin_for(asked, 3, 4, 16), std::chrono::microseconds(7));
  Options apart;
  apart.cpu_sets = "0.25";
  EXPECT_EQ(io_threads_for(apart, 5, 1, 64), 0u);
  Options pinned;
  pinned.io_threads = 2;
  EXPECT_EQ(io_threads_for(pinned, 1, 8, 1), 2u);
}

TEST(Stripes, UnknownInterfacesHaveNoSpeed) {
  EXPECT_EQ(interface_mbits("no-such-interface"), 0);
}

}  // namespace
}  // namespace unisono::rendezvous
