// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// For tests: what the files about order=program have in common.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "order/testing/seeds.hpp"
#include "order/testing/virtual_net.hpp"

namespace unisono::order {

inline OrderSettings patient() {
  using namespace std::chrono_literals;
  return {.set = 0, .stall_warning = 10s, .stall_limit = 100s};
}

// All members have the same log.
inline void expect_same(VirtualNet& n, int members) {
  EXPECT_TRUE(n.faults.empty()) << n.faults.front().to_string();
  for (int i = 1; i < members; ++i) EXPECT_EQ(n.log(i), n.log(0)) << "member " << i;
  std::uint64_t sequence = 0;
  for (const Response& r : n.flat(0)) EXPECT_EQ(r.sequence, sequence++);
}

inline Request of_kind(std::string name, Collective kind, Shape shape = {4, 3}) {
  Request request = tensor_request(std::move(name), std::move(shape));
  request.kind = kind;
  request.root = VirtualNet::rank(0);
  return request;
}

// One of each, as a step of a program might have them.
inline std::vector<std::vector<Request>> calls_of_a_step() {
  using K = Collective;
  return {{of_kind("a", K::allreduce)},     {of_kind("g", K::allgather)},
          {of_kind("b", K::broadcast)},     {of_kind("r", K::reducescatter)},
          {of_kind("t", K::alltoall, {12})}, {kind_request("barrier.1", K::barrier)},
          group_request("group", {"x", "y"}), {of_kind("empty", K::allreduce, {0})}};
}

}  // namespace unisono::order
