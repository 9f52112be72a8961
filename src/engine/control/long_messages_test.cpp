// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/control/long_messages.hpp"

#include <gtest/gtest.h>

#include "base/testing/effort.hpp"
#include "engine/testing/thread_ranks.hpp"

namespace unisono::engine {
namespace {

std::vector<std::byte> pattern(std::size_t bytes) {
  std::vector<std::byte> message(bytes);
  for (std::size_t i = 0; i < bytes; ++i) message[i] = static_cast<std::byte>(i * 7 + i / 256);
  if (bytes > 0) message[0] = std::byte{1};  // the kind of a message
  return message;
}

TEST(LongMessages, APartWithinAPartIsRefusedBeforeAnybodyOpensIt) {
  const std::vector<std::byte> inner = encode_part(pattern(10), true);
  const std::vector<std::byte> outer = encode_part(inner, true);
  auto control = decode_control(outer);
  ASSERT_TRUE(control.ok());
  EXPECT_EQ(LongMessages().add(3, *control).status().code(), Code::corrupted);
}

TEST(LongMessages, ArePutTogetherAgainWhateverTheirLength) {
  constexpr std::size_t kPart = 100;
  for (const std::size_t bytes : {1u, 99u, 100u, 101u, 200u, 201u, 1000u}) {
    const auto message = pattern(bytes);
    std::vector<std::vector<std::byte>> sent;
    ASSERT_TRUE(LongMessages::cut(message, [&](std::span<const std::byte> part) {
      sent.emplace_back(part.begin(), part.end());
    }, kPart).ok());
    if (bytes <= kPart) {
      ASSERT_EQ(sent.size(), 1u);
      EXPECT_EQ(sent[0], message) << "a short one travels as it is";
      continue;
    }
    EXPECT_EQ(sent.size(), (bytes + kPart - 1) / kPart);
    LongMessages received;
    for (std::size_t i = 0; i < sent.size(); ++i) {
      auto control = decode_control(sent[i]);
      ASSERT_TRUE(control.ok());
      ASSERT_EQ(control->kind, ControlKind::part);
      auto whole = received.add(3, *control);
      ASSERT_TRUE(whole.ok());
      EXPECT_EQ(whole->empty(), i + 1 < sent.size());
      if (i + 1 == sent.size()) {
        EXPECT_EQ(*whole, message);
      }
    }
  }
}

TEST(LongMessages, PartsOfDifferentSendersDoNotMix) {
  const auto a = encode_part(pattern(5), false), b = encode_part(pattern(9), true);
  LongMessages received;
  ASSERT_TRUE(received.add(1, decode_control(a).value()).ok());
  EXPECT_EQ(received.add(2, decode_control(b).value()).value(), pattern(9));
  EXPECT_FALSE(received.add(1, decode_control(encode_part({}, true)).value()).ok());
}

// Twelve thousand names of two thousand letters: more than one control message takes, up and down.
TEST(LongMessages, ARoundOfMoreThanAMessageIsAgreedOn) {
  if (short_of_time()) GTEST_SKIP() << "messages of 24 MB take half a minute there";
  Options options;
  options.order = "coordinator";
  run_ranks(2, [](Engine& engine) {
    constexpr std::size_t kTensors = 12'000;
    std::vector<float> data(kTensors, 1.0f);
    std::vector<Operation> operations;
    for (std::size_t i = 0; i < kTensors; ++i) {
      operations.push_back({.kind = Collective::allreduce,
                            .name = std::string(2000, 'n') + std::to_string(i),
                            .shape = {1},
                            .input = &data[i],
                            .output = &data[i]});
    }
    const auto tickets =
        engine.submit_group("group", std::move(operations), {.op = ReduceOp::sum});
    for (const Ticket& ticket : tickets) {
      ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().to_string().substr(0, 300);
    }
    EXPECT_EQ(data, std::vector<float>(kTensors, 2.0f));
  }, options);
}

}  // namespace
}  // namespace unisono::engine
