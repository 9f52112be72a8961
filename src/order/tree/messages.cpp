// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/tree/messages.hpp"

#include <algorithm>

#include "order/cache/bits.hpp"
#include "order/messages/varint.hpp"

namespace unisono::order {
namespace {

enum ParcelFlag : std::uint8_t { kSome = 1, kKnownParcelFlags = 1 };
enum DownFlag : std::uint8_t { kClear = 1 };
enum class AnswerForm : std::uint8_t { cached = 1, alike = 2, whole = 3 };
constexpr std::uint8_t kJoin = 1;       // first byte of a parcel

void put_members(ByteWriter& out, const MemberBits& members) {
  std::vector<std::pair<int, int>> runs;  // first, last
  members.each([&](int i) {
    if (!runs.empty() && runs.back().second + 1 == i) {
      runs.back().second = i;
    } else {
      runs.emplace_back(i, i);
    }
  });
  put_varint(out, runs.size());
  int end = 0;
  for (const auto& [first, last] : runs) {
    put_varint(out, static_cast<std::uint64_t>(first - end));
    put_varint(out, static_cast<std::uint64_t>(last - first));
    end = last + 1;
  }
}

MemberBits get_members(ByteReader& in, int members) {
  MemberBits bits(members);
  std::uint64_t at = 0;
  const auto limit = static_cast<std::uint64_t>(members);
  for (std::uint64_t runs = get_varint(in); runs > 0 && in.ok(); --runs) {
    const std::uint64_t skipped = get_varint(in), more = get_varint(in);
    if (skipped >= limit || more >= limit || at + skipped + more >= limit) {
      in.fail();
      break;
    }
    bits.set_range(static_cast<int>(at + skipped), static_cast<int>(at + skipped + more));
    at += skipped + more + 1;
  }
  return bits;
}

void put_age(ByteWriter& out, Nanos age) {
  put_varint(out, static_cast<std::uint64_t>(std::max<std::int64_t>(0, age.count() / 1000)));
}

Nanos get_age(ByteReader& in) {
  const std::uint64_t micros = get_varint(in);
  if (micros > INT64_MAX / 4000) in.fail();
  return Nanos(static_cast<std::int64_t>(micros % (INT64_MAX / 4000)) * 1000);
}

std::span<const std::byte> get_bytes(ByteReader& in) { return in.get_raw(get_varint(in)); }

UpParcel get_parcel(ByteReader& in, int members) {
  UpParcel up;
  const auto flags = in.get<std::uint8_t>();
  if (flags > kKnownParcelFlags) in.fail();
  up.age = get_age(in);
  if ((flags & kSome) != 0) up.members = get_members(in, members);
  if (auto parcel = view_parcel(get_bytes(in))) {
    up.parcel = std::move(*parcel);
  } else {
    in.fail();
  }
  return up;
}

void put_answer(ByteWriter& out, const Answer& answer) {
  const Response& response = answer.response;
  if (answer.alike) {
    out.put(AnswerForm::alike);
    put_varint(out, response.tensors.size());
    for (const Request& tensor : response.tensors) put_short_text(out, tensor.name);
    return;
  }
  out.put(AnswerForm::whole);
  encode_response(response, out);
  if (response.error.ok()) return;
  for (std::size_t i = 0; i < answer.counted.size(); ++i) {
    const bool same = i > 0 && answer.counted[i] == answer.counted[i - 1];
    out.put(static_cast<std::uint8_t>(same));
    if (!same) put_members(out, answer.counted[i]);
  }
}

Answer get_alike(ByteReader& in, SetId set, std::uint64_t sequence) {
  Answer answer;
  answer.alike = true;
  answer.response.sequence = sequence;
  answer.response.set = set;
  const std::uint64_t tensors = get_varint(in);
  if (!in.can_hold(tensors, 2)) return answer;
  answer.response.tensors.resize(tensors);
  for (Request& tensor : answer.response.tensors) tensor.name = get_short_text(in);
  return answer;
}

Answer get_whole(ByteReader& in, int members) {
  Answer answer;
  answer.response = decode_response(in);
  if (answer.response.error.ok()) return answer;
  for (std::size_t i = 0; i < answer.response.tensors.size() && in.ok(); ++i) {
    const bool same = in.get<std::uint8_t>() != 0;
    if (same && i == 0) in.fail();
    answer.counted.push_back(same && i > 0 ? answer.counted.back() : get_members(in, members));
  }
  return answer;
}

}  // namespace

std::vector<std::byte> encode_parcel(std::span<LocalQueue::Entry* const> entries) {
  std::vector<const Request*> requests;
  for (const LocalQueue::Entry* entry : entries) requests.push_back(&entry->request());
  std::sort(requests.begin(), requests.end(),
            [](const Request* a, const Request* b) { return a->name < b->name; });
  ByteWriter out;
  out.put(static_cast<std::uint8_t>(requests.front()->kind == Collective::join ? kJoin : 0));
  put_short_text(out, requests.front()->group);
  put_varint(out, requests.size());
  for (const Request* request : requests) {
    ByteWriter one;
    encode_request(*request, one);
    put_varint(out, one.size());
    out.put_raw(one.bytes());
  }
  return out.take();
}

std::optional<ParcelView> view_parcel(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  ParcelView view;
  view.bytes = bytes;
  const auto form = in.get<std::uint8_t>();
  if (form > kJoin) in.fail();
  view.join = form == kJoin;
  view.group = get_short_text(in);
  const std::uint64_t count = get_varint(in);
  if (!in.can_hold(count, 8)) return std::nullopt;
  view.requests.reserve(count);
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    const auto encoded = get_bytes(in);
    // An encoded request begins with its name.
    ByteReader head(encoded);
    const auto name = head.get_raw(head.get<std::uint32_t>());
    if (name.empty()) in.fail();
    view.requests.push_back({{reinterpret_cast<const char*>(name.data()), name.size()}, encoded});
  }
  const bool right_count = view.group.empty() ? count == 1 : count >= 1 && !view.join;
  if (!in.finished() || !right_count) return std::nullopt;
  return view;
}

void UpBatch::whole(std::span<const std::byte> parcel, Nanos age) {
  parcels_.push_back({std::nullopt, age, {parcel.begin(), parcel.end()}});
}

void UpBatch::some(const MemberBits& members, std::span<const std::byte> parcel, Nanos age) {
  if (!parcels_.empty() && parcels_.back().members &&
      std::equal(parcel.begin(), parcel.end(), parcels_.back().bytes.begin(),
                 parcels_.back().bytes.end())) {
    parcels_.back().members->add(members);
    parcels_.back().age = std::max(parcels_.back().age, age);
    return;
  }
  parcels_.push_back({members, age, {parcel.begin(), parcel.end()}});
}

void UpBatch::forget(std::uint32_t position) {
  std::erase(ready_, position);
  std::erase(invalid_, position);
}

std::vector<std::byte> UpBatch::encode(std::uint64_t number, std::uint64_t round) {
  ByteWriter out;
  out.put(OrderMessageType::up);
  put_varint(out, number);
  put_varint(out, round);
  std::sort(ready_.begin(), ready_.end());
  put_positions(out, ready_);
  std::sort(invalid_.begin(), invalid_.end());
  put_positions(out, invalid_);
  put_varint(out, parcels_.size());
  for (const Parcel& parcel : parcels_) {
    out.put(static_cast<std::uint8_t>(parcel.members ? kSome : 0));
    put_age(out, parcel.age);
    if (parcel.members) put_members(out, *parcel.members);
    put_varint(out, parcel.bytes.size());
    out.put_raw(parcel.bytes);
  }
  put_varint(out, activities_.size());
  for (const LastActivity& activity : activities_) {
    put_varint(out, static_cast<std::uint64_t>(activity.member));
    put_short_text(out, activity.name);
    put_age(out, activity.age);
  }
  ready_.clear();
  invalid_.clear();
  parcels_.clear();
  activities_.clear();
  return out.take();
}

Result<UpMessage> decode_up(Rank from, std::span<const std::byte> message, const TreeShape& shape,
                            int child) {
  ByteReader in(message);
  if (in.get<OrderMessageType>() != OrderMessageType::up) {
    return malformed(from, "expected a message up the tree");
  }
  UpMessage up;
  up.number = get_varint(in);
  up.round = get_varint(in);
  up.ready = get_positions(in);
  up.invalid = get_positions(in);
  std::optional<MemberBits> subtree;    // made when the first parcel or activity asks for it
  const auto speaks_for = [&](const MemberBits& members) {
    if (!subtree) subtree = shape.subtree(child);
    return !members.empty() && members.within(*subtree);
  };
  for (std::uint64_t left = get_varint(in); left > 0 && in.ok(); --left) {
    up.parcels.push_back(get_parcel(in, shape.members));
    const auto& members = up.parcels.back().members;
    if (members && !speaks_for(*members)) in.fail();
  }
  for (std::uint64_t left = get_varint(in); left > 0 && in.ok(); --left) {
    const std::uint64_t member = get_varint(in);
    if (member >= static_cast<std::uint64_t>(shape.members)) {
      in.fail();
      break;
    }
    MemberBits one(shape.members);
    one.set(static_cast<int>(member));
    if (!speaks_for(one)) in.fail();
    std::string name(get_short_text(in));
    up.activities.push_back({static_cast<int>(member), std::move(name), get_age(in)});
  }
  const bool empty =
      up.ready.empty() && up.invalid.empty() && up.parcels.empty() && up.activities.empty();
  if (!in.finished() || empty) return malformed(from, "it does not parse as a message up the tree");
  return up;
}

std::vector<std::byte> encode_down(const DownMessage& down) {
  ByteWriter out;
  out.put(OrderMessageType::down);
  put_varint(out, down.round);
  out.put(static_cast<std::uint8_t>(down.clear ? kClear : 0));
  put_positions(out, down.erased);
  put_varint(out, down.inquiries.size());
  for (const std::string& name : down.inquiries) put_short_text(out, name);
  ByteWriter segments;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < down.answers.size(); ++count) {
    std::vector<std::uint32_t> cached;
    for (; i < down.answers.size() && down.answers[i].position >= 0; ++i) {
      const auto position = static_cast<std::uint32_t>(down.answers[i].position);
      if (!cached.empty() && position <= cached.back()) break;
      cached.push_back(position);
    }
    if (cached.empty()) {
      put_answer(segments, down.answers[i++]);
      continue;
    }
    segments.put(AnswerForm::cached);
    put_positions(segments, cached);
  }
  put_varint(out, count);
  out.put_raw(segments.bytes());
  return out.take();
}

Result<DownMessage> decode_down(Rank from, std::span<const std::byte> message, int members,
                                SetId set, std::uint64_t next_sequence) {
  ByteReader in(message);
  if (in.get<OrderMessageType>() != OrderMessageType::down) {
    return malformed(from, "expected a message down the tree");
  }
  DownMessage down;
  down.round = get_varint(in);
  const auto flags = in.get<std::uint8_t>();
  if (flags > kClear) in.fail();
  down.clear = flags == kClear;
  down.erased = get_positions(in);
  for (std::uint64_t left = get_varint(in); left > 0 && in.ok(); --left) {
    down.inquiries.emplace_back(get_short_text(in));
  }
  for (std::uint64_t left = get_varint(in); left > 0 && in.ok(); --left) {
    const auto form = in.get<AnswerForm>();
    if (form == AnswerForm::cached) {
      for (const std::uint32_t position : get_positions(in)) {
        down.answers.emplace_back().position = position;
        down.answers.back().response.sequence = next_sequence++;
        down.answers.back().response.set = set;
      }
      continue;
    }
    if (form != AnswerForm::alike && form != AnswerForm::whole) in.fail();
    down.answers.push_back(form == AnswerForm::alike ? get_alike(in, set, next_sequence)
                                                     : get_whole(in, members));
    const Response& response = down.answers.back().response;
    if (in.ok() && (response.sequence != next_sequence || response.set != set)) {
      return malformed(from, "its responses are out of sequence");
    }
    ++next_sequence;
    if (!sound(response, static_cast<std::size_t>(members))) in.fail();
  }
  if (!in.finished() || down.empty()) {
    return malformed(from, "it does not parse as a message down the tree");
  }
  return down;
}

}  // namespace unisono::order
