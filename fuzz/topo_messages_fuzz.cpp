// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Messages that members send each other under topo: lessons, plans, nudges.
#include <array>

#include "order/topo/talk.hpp"
#include "order/testing/virtual_net.hpp"
#include "target.hpp"

namespace unisono::fuzz {
namespace {

const Members kMembers = Members::of(RankList{10, 12, 14}, 12);
const Members kLeader = Members::of(RankList{10, 12, 14}, 10);

void lesson(std::span<const std::byte> bytes) {
  order::TopoTalk talk(kLeader, 2, 0);
  for (const Rank from : {12, 14}) {
    ByteReader in(bytes);
    if (!talk.receive_lesson(from, in)) return;
  }
  order::Lesson own;
  ByteReader in(bytes);
  own = order::Lesson::decode(in);
  talk.learned(own);
  std::optional<order::Lesson> of_all;
  static_cast<void>(talk.pass_on(of_all));
}

void plan(std::span<const std::byte> bytes) {
  order::TopoTalk talk(kMembers, 2, 0);
  ByteReader in(bytes);
  auto offer = talk.receive_plan(10, in);
  if (!offer) return;
  const order::TopoPlan& got = *offer->plan;
  for (std::size_t b = 0; b < got.size(); ++b) {
    must(order::plannable({got.bucket(b).data(), 1}) || !got.bucket(b).front().group.empty(),
         "a bucket that no collective carries");
    for (const Request& request : got.bucket(b)) {
      const auto* place = got.find(request.name);
      must(place != nullptr && got.at(*place).name == request.name, "a slot is not where it is");
    }
  }
}

void nudge(std::span<const std::byte> bytes) {
  order::TopoTalk talk(kMembers, 2, 0);
  ByteReader in(bytes);
  if (auto got = talk.receive_nudge(10, in)) talk.send_nudge(*got, 10);
  std::vector<order::OrderMessage> out;
  talk.take_messages(out);
}

constexpr std::array kParsers = {lesson, plan, nudge};

// Returns the first message without the byte that says what kind it is.
Bytes body(const std::vector<order::OrderMessage>& messages) {
  must(!messages.empty(), "nothing was said");
  return {messages.front().bytes.begin() + 1, messages.front().bytes.end()};
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  Choices choices(bytes);
  kParsers[choices.below(kParsers.size())](choices.rest());
}

std::vector<Bytes> seeds() {
  ByteWriter learned;
  order::Lesson{1, 99, {{0, 1, 1}, {0, 0, 2}}}.encode(learned);
  auto group = order::group_request("g", {"a", "b"});
  const auto offered = std::make_shared<const order::TopoPlan>(std::vector<std::vector<Request>>{
      {order::tensor_request("x"), order::tensor_request("y")}, group});
  std::vector<order::OrderMessage> out, more;
  order::TopoTalk leader(kLeader, 2, 0);
  leader.send_plan({1, offered});
  leader.take_messages(out);
  leader.send_nudge({1, 5});
  leader.take_messages(more);
  return {chosen(0, learned.bytes()), chosen(1, body(out)), chosen(2, body(more))};
}

}  // namespace unisono::fuzz
