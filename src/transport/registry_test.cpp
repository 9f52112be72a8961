// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/registry.hpp"

#include <gtest/gtest.h>

namespace unisono::transport {
namespace {

TEST(TransportRegistry, TheFastestComesFirst) {
  ASSERT_EQ(transport_table().size(), 2u);
  EXPECT_EQ(transport_table().front().name, "shm");
  for (const TransportRow& row : transport_table()) {
    EXPECT_FALSE(row.about.empty());
    EXPECT_EQ(find_transport(row.name).viable, row.viable);
  }
}

TEST(TransportRegistry, SharedMemoryNeedsOnePlaceAndASocketOnBothSides) {
  const auto viable = find_transport("shm").viable;
  const Endpoint one{"host a", "u1", "10.0.0.1:1"}, same{"host a", "u2", "10.0.0.1:2"};
  const Endpoint elsewhere{"host b", "u3", "10.0.0.2:1"}, without{"host a", "", "10.0.0.1:3"};
  EXPECT_TRUE(viable(one, same));
  EXPECT_FALSE(viable(one, elsewhere));
  EXPECT_FALSE(viable(one, without));
  EXPECT_FALSE(viable(without, one));
  // A rank that does not know its place may try.
  EXPECT_TRUE(viable(one, {"", "u4", ""}));
}

TEST(TransportRegistry, TcpNeedsTwoAddresses) {
  const auto viable = find_transport("tcp").viable;
  EXPECT_TRUE(viable({"a", "", "10.0.0.1:1"}, {"b", "", "10.0.0.2:1"}));
  EXPECT_FALSE(viable({"a", "", ""}, {"b", "", "10.0.0.2:1"}));
}

TEST(TransportRegistry, AnOptionAllowsItsOwnAndAutoAll) {
  EXPECT_TRUE(may_use("auto", "shm"));
  EXPECT_TRUE(may_use("shm", "shm"));
  EXPECT_FALSE(may_use("tcp", "shm"));
  EXPECT_TRUE(may_use("tcp", "tcp"));
  EXPECT_FALSE(may_use("shm", "tcp"));
}

}  // namespace
}  // namespace unisono::transport
