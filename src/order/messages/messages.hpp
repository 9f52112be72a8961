// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the members of the coordinator strategy send each other (docs/WIRE_FORMAT.md, "Order").
// Decoding checks everything an engine relies on; malformed input is a Status naming the sender.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/data/bytes.hpp"
#include "model/members.hpp"
#include "model/response.hpp"
#include "order/agree/answer.hpp"
#include "order/messages/local_queue.hpp"
#include "unisono/status.hpp"

namespace unisono::order {

enum class OrderMessageType : std::uint8_t {
  requests = 1,                         // coordinator: from a member
  responses = 2,                        // coordinator: to a member
  up = 3,                               // tree, cache: from a child to its parent
  down = 4,                             // tree, cache: from a parent to its children
};

// One request inside a message, not decoded beyond its name. Points into the message.
struct RequestSlice {
  std::string_view name;
  std::span<const std::byte> encoded;
};
using RequestSlices = std::vector<RequestSlice>;

std::vector<std::byte> encode_requests(const std::vector<LocalQueue::Entry*>& entries);
Result<RequestSlices> decode_requests(Rank from, std::span<const std::byte> message);
Result<Request> decode_slice(Rank from, const RequestSlice& slice);

struct Round {
  std::uint64_t counted = 0;            // messages of the receiver that the round takes account of
  // An alike answer carries only the names of its tensors: the receiver has the rest.
  std::vector<Answer> answers;
};

// Rounds differ between receivers in `counted` alone, so the answers are encoded once.
std::vector<std::byte> encode_answers(const std::vector<Answer>& answers);
std::vector<std::byte> encode_round(std::uint64_t counted, std::span<const std::byte> answers);
// `next_sequence`: what the first response must carry.
Result<Round> decode_round(Rank from, std::span<const std::byte> message, const Members& members,
                           SetId set, std::uint64_t next_sequence);

// Whether a response that came from elsewhere is one that an engine can run.
bool sound(const Response& response, std::size_t members);

Status malformed(Rank from, std::string_view what);

}  // namespace unisono::order
