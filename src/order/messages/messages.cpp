// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/messages/messages.hpp"

#include <algorithm>
#include <string_view>

#include "base/data/text.hpp"

namespace unisono::order {
namespace {

// The least that one entry takes: no message can hold more entries than its bytes allow, so a
// forged count never makes us reserve memory.
constexpr std::size_t kRequestBytesMin = 8;
constexpr std::size_t kAnswerBytesMin = 9;

bool extents_fit(const Response& response, std::size_t members) {
  const bool ragged =
      std::any_of(response.tensors.begin(), response.tensors.end(),
                  [](const Request& tensor) { return traits_of(tensor.kind).has_extents(); });
  if (!response.error.ok() || !ragged) return response.extents.empty();
  if (response.extents.size() != response.tensors.size()) return false;
  for (std::size_t i = 0; i < response.tensors.size(); ++i) {
    const std::size_t expected = traits_of(response.tensors[i].kind).has_extents() ? members : 0;
    const auto& extents = response.extents[i];
    if (extents.size() != expected) return false;
    if (std::any_of(extents.begin(), extents.end(), [](std::int64_t n) { return n < 0; })) {
      return false;
    }
  }
  return true;
}

Answer decode_answer(ByteReader& in, SetId set, std::uint64_t sequence) {
  Answer answer;
  answer.alike = in.get<std::uint8_t>() != 0;
  if (!answer.alike) {
    answer.response = decode_response(in);
    return answer;
  }
  answer.response.sequence = sequence;
  answer.response.set = set;
  const auto tensors = in.get<std::uint32_t>();
  if (!in.can_hold(tensors, sizeof(std::uint32_t))) return answer;
  answer.response.tensors.resize(tensors);
  for (Request& tensor : answer.response.tensors) tensor.name = in.get_text();
  return answer;
}

}  // namespace

bool sound(const Response& response, std::size_t members) {
  const bool absent_known =
      std::all_of(response.absent.begin(), response.absent.end(),
                  [&](std::uint32_t index) { return index < members; });
  return !response.tensors.empty() && absent_known && extents_fit(response, members);
}

Status malformed(Rank from, std::string_view what) {
  return {Code::corrupted, cat("malformed order message from rank ", from, ": ", what),
          {.rank = from, .host = {}, .pid = 0, .tensor = {}}};
}

std::vector<std::byte> encode_requests(const std::vector<LocalQueue::Entry*>& entries) {
  ByteWriter out;
  out.put(OrderMessageType::requests);
  out.put(static_cast<std::uint32_t>(entries.size()));
  for (const LocalQueue::Entry* entry : entries) {
    ByteWriter one;
    encode_request(entry->request(), one);
    out.put(static_cast<std::uint32_t>(one.size()));
    out.put_raw(one.bytes());
  }
  return out.take();
}

Result<RequestSlices> decode_requests(Rank from, std::span<const std::byte> message) {
  ByteReader in(message);
  if (in.get<OrderMessageType>() != OrderMessageType::requests) {
    return malformed(from, "expected requests");
  }
  const auto count = in.get<std::uint32_t>();
  if (!in.can_hold(count, kRequestBytesMin)) return malformed(from, "it is cut short");
  RequestSlices slices;
  slices.reserve(count);
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    const auto encoded = in.get_raw(in.get<std::uint32_t>());
    // An encoded request begins with its name.
    ByteReader head(encoded);
    const auto name = head.get_raw(head.get<std::uint32_t>());
    if (name.empty()) in.fail();
    slices.push_back({{reinterpret_cast<const char*>(name.data()), name.size()}, encoded});
  }
  if (!in.finished() || slices.empty()) return malformed(from, "it does not parse as requests");
  return slices;
}

Result<Request> decode_slice(Rank from, const RequestSlice& slice) {
  ByteReader in(slice.encoded);
  Request request = decode_request(in);
  if (!in.finished()) return malformed(from, "it does not parse as requests");
  return request;
}

std::vector<std::byte> encode_answers(const std::vector<Answer>& answers) {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(answers.size()));
  for (const Answer& answer : answers) {
    const Response& response = answer.response;
    out.put(static_cast<std::uint8_t>(answer.alike));
    if (!answer.alike) {
      encode_response(response, out);
      continue;
    }
    out.put(static_cast<std::uint32_t>(response.tensors.size()));
    for (const Request& tensor : response.tensors) out.put_text(tensor.name);
  }
  return out.take();
}

std::vector<std::byte> encode_round(std::uint64_t counted, std::span<const std::byte> answers) {
  ByteWriter out;
  out.put(OrderMessageType::responses);
  out.put(counted);
  out.put_raw(answers);
  return out.take();
}

Result<Round> decode_round(Rank from, std::span<const std::byte> message, const Members& members,
                           SetId set, std::uint64_t next_sequence) {
  ByteReader in(message);
  if (in.get<OrderMessageType>() != OrderMessageType::responses) {
    return malformed(from, "expected responses");
  }
  Round round;
  round.counted = in.get<std::uint64_t>();
  const auto count = in.get<std::uint32_t>();
  if (!in.can_hold(count, kAnswerBytesMin)) return malformed(from, "it is cut short");
  round.answers.reserve(count);
  for (std::uint32_t i = 0; i < count && in.ok(); ++i, ++next_sequence) {
    round.answers.push_back(decode_answer(in, set, next_sequence));
    const Response& response = round.answers.back().response;
    if (response.sequence != next_sequence || response.set != set) {
      return malformed(from, "its responses are out of sequence");
    }
    if (!sound(response, members.ranks.size())) in.fail();
  }
  if (!in.finished() || round.answers.empty()) {
    return malformed(from, "it does not parse as responses");
  }
  return round;
}

}  // namespace unisono::order
