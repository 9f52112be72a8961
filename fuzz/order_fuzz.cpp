// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Gives whole strategies, in the middle of a step, messages that nobody sent: they must refuse or
// accept them, and go on.
#include <array>

#include "order/testing/virtual_net.hpp"
#include "target.hpp"

namespace unisono::fuzz {
namespace {

constexpr std::array kStrategies = {"coordinator", "tree", "cache", "topo", "auto"};
constexpr std::array kPacings = {"event", "cycle", "gs", "nbcs"};

order::VirtualNet net_of(unsigned strategy, unsigned pacing) {
  order::OrderSettings settings;
  settings.pacing = kPacings[pacing];
  settings.tree_radix = 2;
  settings.learn_steps = 1;
  settings.stall_limit = std::chrono::seconds(100);
  order::VirtualNet net(kStrategies[strategy], 3, 1, settings);
  if (pacing != 0) net.cycle = settings.cycle;
  return net;
}

// All ranks submit two steps, so that the strategies have state that a message could corrupt.
void say(order::VirtualNet& net) {
  for (int step = 0; step < 2; ++step) {
    net.submit_all(order::tensor_request("x"));
    for (int i = 0; i < net.size(); ++i) net.submit(i, order::group_request("g", {"a", "b"}));
    net.settle();
  }
  for (int i = 0; i < 2; ++i) net.submit(i, order::tensor_request("late"));
  net.shake(6);
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  Choices choices(bytes);
  const unsigned strategy = choices.below(kStrategies.size());
  order::VirtualNet net = net_of(strategy, choices.below(kPacings.size()));
  say(net);
  while (!choices.empty()) {
    const int to = static_cast<int>(choices.below(3)), from = static_cast<int>(choices.below(3));
    const auto message = choices.take(choices.byte());
    if (from == to) continue;
    const Status status = net.at(to).receive(order::VirtualNet::rank(from), message, net.now());
    must(status.ok() || status.code() == Code::corrupted, "a fault of another kind");
    order::OrderOutput out;
    net.at(to).negotiate(net.now(), out);
  }
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> all;
  for (unsigned s = 0; s < kStrategies.size(); ++s) {
    for (unsigned p = 0; p < 2; ++p) {
      order::VirtualNet net = net_of(s, p);
      net.keep_messages = true;
      say(net);
      Bytes seed{std::byte(s), std::byte(p)};
      int taken = 0;
      for (const auto& kept : net.kept) {
        if (kept.bytes.size() > 255 || ++taken > 3) continue;
        seed.push_back(std::byte((kept.to - 10) / 2));
        seed.push_back(std::byte((kept.from - 10) / 2));
        seed.push_back(std::byte(kept.bytes.size()));
        seed.insert(seed.end(), kept.bytes.begin(), kept.bytes.end());
      }
      all.push_back(std::move(seed));
    }
  }
  return all;
}

}  // namespace unisono::fuzz
