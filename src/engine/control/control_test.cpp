// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/control/control.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace unisono::engine {
namespace {

std::vector<std::byte> bytes(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

TEST(Control, EveryKindReadsBackAsItWasWritten) {
  const auto body = bytes("a body");
  const auto order = decode_control(encode_order(3, body));
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(order.value().kind, ControlKind::order);
  EXPECT_EQ(order.value().set, 3U);

  const auto abort = decode_control(encode_abort(
      Status(Code::peer_lost, "rank 1 is gone", Culprit{1, "host", 4711, ""})));
  ASSERT_TRUE(abort.ok());
  EXPECT_EQ(abort.value().status.code(), Code::peer_lost);
  EXPECT_EQ(abort.value().status.message(), "rank 1 is gone");
  EXPECT_EQ(abort.value().status.culprit().rank, 1);
  EXPECT_EQ(abort.value().status.culprit().host, "host");
  EXPECT_EQ(abort.value().status.culprit().pid, 4711);

  const auto leave = decode_control(encode_leave(ControlKind::leave_granted, 2, 99));
  ASSERT_TRUE(leave.ok());
  EXPECT_EQ(leave.value().kind, ControlKind::leave_granted);
  EXPECT_EQ(leave.value().set, 2U);
  EXPECT_EQ(leave.value().responses, 99U);

  const auto wait = decode_control(encode_wait({12, Nanos(3000)}));
  ASSERT_TRUE(wait.ok());
  EXPECT_EQ(wait.value().wait.tensors, 12U);

  const auto verdict = decode_control(encode_verdict({2, Nanos(4000), 5}));
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(verdict.value().slow.rank, 2);
  EXPECT_EQ(verdict.value().slow.late, Nanos(4000));

  const auto departs = decode_control(encode_departure({{1, 3}, {0, 2}, {0x123456789abc}, {7}}));
  ASSERT_TRUE(departs.ok());
  EXPECT_EQ(departs.value().departure.before, (std::vector<Rank>{1, 3}));
  EXPECT_EQ(departs.value().departure.unfinished, (std::vector<SetId>{0, 2}));
  EXPECT_EQ(departs.value().departure.runs, std::vector<std::uint64_t>{7});

  const auto left = decode_control(encode_left({2, 0}));
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(left.value().leavers, (std::vector<Rank>{2, 0}));

  const auto routed_bytes = encode_routed({4, Route::kEverybody, 7}, encode_left({2}));
  const auto routed = decode_control(routed_bytes);
  ASSERT_TRUE(routed.ok());
  EXPECT_EQ(routed.value().route.origin, 4);
  EXPECT_EQ(routed.value().route.to, Route::kEverybody);
  EXPECT_EQ(routed.value().route.number, 7U);
  EXPECT_EQ(decode_control(routed.value().body).value().kind, ControlKind::left);
  const auto bundle_bytes = encode_bundle({routed_bytes, routed_bytes});
  const auto bundle = decode_control(bundle_bytes);
  ASSERT_TRUE(bundle.ok());
  ASSERT_EQ(bundle.value().bundle.size(), 2U);
  EXPECT_TRUE(std::ranges::equal(bundle.value().bundle[1], routed_bytes));
  EXPECT_FALSE(decode_control(encode_bundle({bundle_bytes})).ok()) << "a bundle within a bundle";

  const auto whole = encode_part(body, true);
  const auto part = decode_control(whole);
  ASSERT_TRUE(part.ok());
  EXPECT_TRUE(part.value().last);
  EXPECT_EQ(std::vector(part.value().body.begin(), part.value().body.end()), body);
}

TEST(Control, NoMessageCutShortIsTakenForAWholeOne) {
  const std::vector<std::byte> messages[] = {
      encode_abort(Status(Code::peer_lost, "gone", Culprit{1, "host", 1, "t"})),
      encode_leave(ControlKind::leave_granted, 2, 99),
      encode_wait({12, Nanos(3000)}),
      encode_verdict({2, Nanos(4000), 5}),
      encode_departure({{1, 3}, {0, 2}, {5}, {7}}),
      encode_left({2, 0}),
  };
  for (const auto& message : messages) {
    for (std::size_t length = 0; length < message.size(); ++length) {
      EXPECT_FALSE(decode_control(std::span(message).first(length)).ok())
          << "kind " << static_cast<int>(message.front()) << ", " << length << " bytes";
    }
  }
}

TEST(Control, UnknownKindsAreRefused) {
  for (const int kind : {0, 10, 255}) {
    std::vector<std::byte> message = encode_order(0, {});
    message.front() = static_cast<std::byte>(kind);
    EXPECT_FALSE(decode_control(message).ok()) << kind;
  }
}

}  // namespace
}  // namespace unisono::engine
