// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What members of the tree and cache strategies send each other.
#include <array>

#include "order/cache/bits.hpp"
#include "order/messages/messages.hpp"
#include "order/tree/messages.hpp"
#include "order/testing/virtual_net.hpp"
#include "target.hpp"

namespace unisono::fuzz {
namespace {

constexpr order::TreeShape kShape{70, 3};

void up(std::span<const std::byte> bytes) {
  auto got = order::decode_up(10, bytes, kShape, 1);
  if (!got) return;
  const order::MemberBits below = kShape.subtree(1);
  for (const order::UpParcel& parcel : got->parcels) {
    must(!parcel.members || parcel.members->within(below), "a child speaks for others");
    for (const order::RequestSlice& slice : parcel.parcel.requests) {
      static_cast<void>(order::decode_slice(10, slice));
    }
  }
  for (const order::LastActivity& activity : got->activities)
    must(below.test(activity.member), "a deed of another's member");
}

void down(std::span<const std::byte> bytes) {
  auto got = order::decode_down(10, bytes, kShape.members, 0, 5);
  if (got) static_cast<void>(order::encode_down(*got));
}

void parcel(std::span<const std::byte> bytes) { static_cast<void>(order::view_parcel(bytes)); }

void positions(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  const auto got = order::get_positions(in);
  if (!in.finished()) return;
  must(std::adjacent_find(got.begin(), got.end(), std::greater_equal<>()) == got.end(),
       "positions that do not ascend");
  ByteWriter out;
  order::put_positions(out, got);
  ByteReader second(out.bytes());
  must(order::get_positions(second) == got && second.finished(),
       "positions change when written down");
}

constexpr std::array kParsers = {up, down, parcel, positions};

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  Choices choices(bytes);
  kParsers[choices.below(kParsers.size())](choices.rest());
}

std::vector<Bytes> seeds() {
  order::LocalQueue queue(0);
  queue.submit(order::tensor_request("x", {2, 3}), Time{});
  const Bytes one = order::encode_parcel(queue.unsent());
  order::UpBatch batch;
  batch.ready(3);
  batch.ready(9);
  batch.invalid(4);
  batch.whole(one, Nanos(5000));
  order::MemberBits some(kShape.members);
  some.set(1);
  batch.some(some, one, Nanos(5000));
  batch.activity({1, "y", Nanos(1000)});
  order::DownMessage message;
  message.round = 2;
  message.erased = {1, 2, 7};
  message.inquiries = {"y"};
  order::Answer whole, alike, failed;
  whole.response.sequence = 5;
  whole.response.tensors = {queue.unsent().front()->request()};
  alike.alike = true;
  alike.response.sequence = 6;
  alike.response.tensors = {order::tensor_request("y")};
  failed.response.sequence = 7;
  failed.response.error = Status(Code::mismatch, "no");
  failed.response.tensors = {order::tensor_request("z")};
  failed.counted = {some};
  message.answers = {whole, alike, failed};
  ByteWriter sparse, dense;
  order::put_positions(sparse, {1, 1000, 100000});
  order::put_positions(dense, {8, 9, 10, 11, 12, 13, 14, 15, 16, 17});
  return {chosen(0, batch.encode(0, 1)), chosen(1, order::encode_down(message)), chosen(2, one),
          chosen(3, sparse.bytes()), chosen(3, dense.bytes())};
}

}  // namespace unisono::fuzz
