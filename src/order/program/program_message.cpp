// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/program/program_message.hpp"

#include <algorithm>

#include "order/agree/groups.hpp"
#include "order/messages/messages.hpp"

namespace unisono::order {
namespace {

// The least that a request takes, so that a forged count reserves no memory.
constexpr std::size_t kCalledBytesMin = 8;
constexpr std::int64_t kAgeMax = std::int64_t{1} << 60;

void decode_call(ByteReader& in, ProgramMessage& message) {
  const auto count = in.get<std::uint32_t>();
  if (count == 0 || !in.can_hold(count, kCalledBytesMin)) return in.fail();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    message.requests.push_back(decode_request(in));
  }
  if (in.ok() && parcel_length(message.requests, 0) != message.requests.size()) in.fail();
}

void decode_outcome(ByteReader& in, ProgramMessage& message, const Members& members, SetId set) {
  message.stays = in.get<std::uint8_t>() != 0;
  message.response = decode_response(in);
  const Response& response = message.response;
  if (response.sequence != message.position || response.set != set ||
      !sound(response, members.ranks.size())) {
    in.fail();
  }
}

}  // namespace

std::vector<std::byte> encode_program_message(const ProgramMessage& message) {
  ByteWriter out;
  out.put(message.word);
  out.put(message.position);
  switch (message.word) {
    case ProgramWord::call:
      out.put(static_cast<std::int64_t>(message.age.count()));
      out.put(static_cast<std::uint32_t>(message.requests.size()));
      for (const Request& request : message.requests) encode_request(request, out);
      break;
    case ProgramWord::idle:
      out.put(static_cast<std::int64_t>(message.age.count()));
      out.put_text(message.last);
      break;
    case ProgramWord::answer:
      out.put(static_cast<std::uint8_t>(message.stays));
      encode_response(message.response, out);
      break;
    case ProgramWord::leaving:
    case ProgramWord::nudge: break;
  }
  return out.take();
}

Result<ProgramMessage> decode_program_message(Rank from, std::span<const std::byte> bytes,
                                              const Members& members, SetId set) {
  ByteReader in(bytes);
  ProgramMessage message;
  message.word = in.get<ProgramWord>();
  message.position = in.get<std::uint64_t>();
  switch (message.word) {
    case ProgramWord::call:
      message.age = Nanos(std::clamp(in.get<std::int64_t>(), std::int64_t{0}, kAgeMax));
      decode_call(in, message);
      break;
    case ProgramWord::idle:
      message.age = Nanos(std::clamp(in.get<std::int64_t>(), std::int64_t{0}, kAgeMax));
      message.last = in.get_text();
      break;
    case ProgramWord::answer: decode_outcome(in, message, members, set); break;
    case ProgramWord::leaving:
    case ProgramWord::nudge: break;
    default: in.fail();
  }
  if (!in.finished()) return malformed(from, "it does not parse as a word about a program");
  return message;
}

}  // namespace unisono::order
