// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What members of the coordinator strategy, of a paced set and of any set across a switch of
// strategy send each other.
#include <array>

#include "order/messages/messages.hpp"
#include "order/pacing/pacing.hpp"
#include "order/switch/switchable_mail.hpp"
#include "order/testing/virtual_net.hpp"
#include "target.hpp"

namespace unisono::fuzz {
namespace {

const Members kMembers = Members::of(RankList{10, 12, 14}, 12);

void requests(std::span<const std::byte> bytes) {
  auto slices = order::decode_requests(10, bytes);
  if (!slices) return;
  for (const order::RequestSlice& slice : *slices)
    static_cast<void>(order::decode_slice(10, slice));
}

void round(std::span<const std::byte> bytes) {
  auto got = order::decode_round(10, bytes, kMembers, 0, 5);
  if (!got) return;
  for (const order::Answer& answer : got->answers) {
    must(order::sound(answer.response, kMembers.ranks.size()),
         "an unsound response was let through");
  }
}

void wave(std::span<const std::byte> bytes) {
  auto got = order::decode_wave(10, bytes);
  if (!got) return;
  std::vector<Bytes> riders;
  for (const auto rider : got->riders) riders.emplace_back(rider.begin(), rider.end());
  const Bytes written = order::encode_wave(got->kind, got->round, got->sleep, riders);
  must(order::decode_wave(10, written).ok(), "a wave that was read cannot be written");
}

void mail(std::span<const std::byte> bytes) {
  order::EpochMail mail;
  for (const bool consented : {false, true}) static_cast<void>(mail.open(10, bytes, consented));
  for (const auto& [from, message] : mail.advance()) must(from == 10, "mail from nobody");
  static_cast<void>(mail.open(10, bytes, true));
}

constexpr std::array kParsers = {requests, round, wave, mail};

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  Choices choices(bytes);
  kParsers[choices.below(kParsers.size())](choices.rest());
}

std::vector<Bytes> seeds() {
  order::LocalQueue queue(0);
  queue.submit(order::tensor_request("x", {2, 3}), Time{});
  order::Answer whole, alike;
  whole.response.sequence = 5;
  whole.response.tensors = {queue.unsent().front()->request()};
  alike.response.sequence = 6;
  alike.alike = true;
  alike.response.tensors = {order::tensor_request("y")};
  const Bytes asked = order::encode_requests(queue.unsent());
  return {chosen(0, asked),
          chosen(1, order::encode_round(3, order::encode_answers({whole, alike}))),
          chosen(2, order::encode_wave(order::WaveKind::up, 4, Nanos(-5), {asked, {}})),
          chosen(3, order::EpochMail{}.seal(asked))};
}

}  // namespace unisono::fuzz
