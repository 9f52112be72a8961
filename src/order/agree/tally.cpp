// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/agree/tally.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "base/data/text.hpp"
#include "order/agree/groups.hpp"

namespace unisono::order {
namespace {

// Joins end a round, so that what ran without the joined members is not overtaken by their return.
constexpr std::int32_t kLast = std::numeric_limits<std::int32_t>::min();

Status protocol_error(Rank rank, std::string_view name, std::string_view what) {
  return {Code::corrupted, cat("rank ", rank, " sent a bad request for \"", name, "\": ", what),
          {.rank = rank, .host = {}, .pid = 0, .tensor = std::string(name)}};
}

}  // namespace

Status peer_left_error(Rank rank, std::string_view tensor) {
  return {Code::peer_left,
          cat("rank ", rank, " has shut down, but \"", tensor,
              "\" needs every rank of its process set. Let all ranks run the same number of "
              "operations, or join before leaving."),
          {.rank = rank, .host = {}, .pid = 0, .tensor = std::string(tensor)}};
}

Response peer_left_response(Rank rank, Request request, SetId set, std::uint64_t sequence) {
  Response response;
  response.sequence = sequence;
  response.set = set;
  response.error = peer_left_error(rank, request.name);
  request.set = set;
  response.tensors.push_back(std::move(request));
  return response;
}

Tally::Tally(const Members& members, const OrderSettings& settings)
    : members_(members), settings_(settings), joins_(members.count()),
      readiness_(members.count(), joins_), stalls_(settings, members),
      next_sequence_(settings.first_sequence) {}

Status Tally::add(int member, std::vector<Request> requests, Time now) {
  if (!requests.empty()) stalls_.heard_from(member, requests.back().name, now);
  for (std::size_t i = 0; i < requests.size();) {
    const std::size_t length = parcel_length(requests, i);
    if (length == 0) {
      return protocol_error(members_.rank_of(member), requests[i].name, "its group is not whole");
    }
    const auto parcel = std::span(requests).subspan(i, length);
    if (Status status = add_parcel(member, parcel, now); !status) return status;
    i += length;
  }
  return {};
}

Status Tally::add(Senders who, const RequestSlices& requests, Time at) {
  const Rank rank = members_.rank_of(who.first());
  std::vector<Request> group;
  for (const RequestSlice& slice : requests) {
    if (group.empty()) {
      if (Unit* unit = readiness_.add_repeated(who, slice.name, slice.encoded, at)) {
        watch(*unit);
        continue;
      }
    }
    auto request = decode_slice(rank, slice);
    if (!request.ok()) return request.status();
    group.push_back(std::move(request.value()));
    if (!group.front().group.empty() && group.size() < group.front().group_size) continue;
    if (parcel_length(group, 0) != group.size()) break;
    if (Status status = add_parcel(who, group, at); !status) return status;
    if (group.size() == 1) readiness_.remember(who, slice.name, slice.encoded);
    group.clear();
  }
  if (!group.empty()) return protocol_error(rank, group.front().name, "its group is not whole");
  if (who.single()) stalls_.heard_from(who.first(), requests.back().name, at);
  return {};
}

Status Tally::add_parcel(Senders who, std::span<Request> parcel, Time at) {
  const Rank rank = members_.rank_of(who.first());
  for (const Request& request : parcel) {
    if (request.set != settings_.set) {
      return protocol_error(rank, request.name, "it belongs to another process set");
    }
    if (readiness_.has_submitted(who, request.name)) {
      return protocol_error(rank, request.name, "the name is in flight already");
    }
    if (request.kind == Collective::join && !request.group.empty()) {
      return protocol_error(rank, request.name, "a join cannot be part of a group");
    }
  }
  if (parcel.front().kind == Collective::join) {
    if (who.meet(joins_.joined())) {
      return protocol_error(rank, parcel.front().name, "the rank has joined already");
    }
    who.each([&](int member) { joins_.add(member, parcel.front()); });
    readiness_.recheck();
    return {};
  }
  watch(readiness_.add(who, parcel, at));
  return {};
}

void Tally::watch(Unit& unit) {
  if (unit.earlier) stalls_.started(unit);
}

void Tally::leave(Rank rank) {
  if (!left_) left_ = rank;
}

void Tally::fail_all(std::vector<Decision>& round) {
  while (!readiness_.empty()) {
    Unit unit = readiness_.take(readiness_.units().front());
    const std::int32_t priority = unit.priority();
    Status error = peer_left_error(*left_, unit.name());
    round.push_back({priority, refuse(std::move(unit), std::move(error))});
  }
  if (!joins_.any()) return;
  Answer join;
  join.response.tensors = joins_.requests();
  join.response.error = peer_left_error(*left_, join.response.tensors.front().name);
  join.counted.assign(join.response.tensors.size(), joins_.joined());
  round.push_back({kLast, std::move(join)});
  joins_.reset();
}

std::vector<Answer> Tally::next_round(Time now, std::vector<Stall>& stalls,
                                      const std::vector<Cached>& cached,
                                      std::vector<std::string>& inquiries) {
  std::vector<Decision> decisions;
  for (const Cached& hit : cached) {
    decisions.push_back({hit.priority, {}});
    decisions.back().answer.position = hit.position;
  }
  if (left_) fail_all(decisions);
  for (auto& [unit, error] : stalls_.check(readiness_, joins_, now, stalls, inquiries)) {
    const std::int32_t priority = unit->priority();
    decisions.push_back({priority, refuse(readiness_.take(*unit), std::move(error))});
  }
  const std::vector<Unit*> ready = readiness_.take_ready();
  decisions.reserve(decisions.size() + ready.size() + 1);
  for (Unit* unit : ready) {
    const std::int32_t priority = unit->priority();
    decisions.push_back({priority, answer(readiness_.take(*unit), members_, joins_)});
  }
  if (joins_.all()) {
    decisions.push_back({kLast, answer_join(joins_, members_)});
    joins_.reset();
  }
  if (readiness_.empty()) stalls_.nothing_waits();
  // Mostly nobody sets priorities, and sorting would move everything for nothing.
  const auto before = [](const Decision& a, const Decision& b) { return a.priority > b.priority; };
  if (!std::is_sorted(decisions.begin(), decisions.end(), before)) {
    std::stable_sort(decisions.begin(), decisions.end(), before);
  }
  std::vector<Answer> round;
  round.reserve(decisions.size());
  for (Decision& decision : decisions) {
    decision.answer.response.sequence = next_sequence_++;
    decision.answer.response.set = settings_.set;
    round.push_back(std::move(decision.answer));
  }
  return round;
}

Time Tally::deadline() const {
  const bool due_now = readiness_.has_ready() || joins_.all() ||
                       (left_ && (!readiness_.empty() || joins_.any()));
  return due_now ? Time{0} : stalls_.deadline();
}

}  // namespace unisono::order
