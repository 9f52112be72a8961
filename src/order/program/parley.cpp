// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/program/parley.hpp"

#include <algorithm>

#include "base/data/text.hpp"
#include "order/agree/rank_text.hpp"

namespace unisono::order {
namespace {

OrderSettings of_one_position(OrderSettings settings, std::uint64_t position) {
  settings.first_sequence = position;
  return settings;
}

}  // namespace

std::string replaced(std::string text, std::string_view what, std::string_view instead) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + instead.size())) {
    text.replace(at, what.size(), instead);
  }
  return text;
}

Parley::Parley(const Members& members, const OrderSettings& settings, std::uint64_t position)
    : members_(members), position_(position), set_(settings.set),
      tally_(members, of_one_position(settings, position)), calls_(members.ranks.size()) {}

Status Parley::called(int member, Call call) {
  auto& place = calls_[static_cast<std::size_t>(member)];
  if (place) return malformed(members_.rank_of(member), "it calls twice at one position");
  place = std::move(call);
  return tally_.add(member, at_meeting(*place, position_), place->since);
}

std::optional<Response> Parley::outcome(Time now, std::vector<Stall>& stalls) {
  std::vector<std::string> inquiries;
  const std::size_t before = stalls.size();
  std::vector<Answer> round = tally_.next_round(now, stalls, {}, inquiries);
  for (std::size_t i = before; i < stalls.size(); ++i) {
    stalls[i].sentence = readable(std::move(stalls[i].sentence));
    stalls[i].name = readable(std::move(stalls[i].name));
  }
  if (round.empty()) return std::nullopt;
  Response response = std::move(round.front().response);
  if (response.error.ok()) response.error = compare_names();
  if (response.error.code() == Code::mismatch) response.error = name_calls(response.error);
  if (!response.error.ok()) {
    response.extents.clear();
    response.absent.clear();
  }
  return response;
}

// Names that callers gave are no part of what the tally compares.
Status Parley::compare_names() const {
  const Call* first = nullptr;
  for (const auto& call : calls_) {
    if (!call || call->first().kind == Collective::join) continue;
    if (first == nullptr) first = &*call;
    for (std::size_t i = 0; i < std::min(first->requests.size(), call->requests.size()); ++i) {
      const std::string &one = first->requests[i].name, &other = call->requests[i].name;
      if (one == other || (!is_named(one) && !is_named(other))) continue;
      return {Code::mismatch, cat("Mismatched names: One rank called \"", one,
                                  "\", but another rank called \"", other, "\". ")};
    }
  }
  return {};
}

// The first sentence says what differs; then every rank's call is named.
Status Parley::name_calls(const Status& error) const {
  const std::string& message = error.message();
  const std::size_t end = message.find(". ");
  std::vector<std::pair<Rank, std::string>> sent;
  for (int i = 0; i < members_.count(); ++i) {
    const auto& call = calls_[static_cast<std::size_t>(i)];
    if (call) sent.emplace_back(members_.rank_of(i), describe(*call));
  }
  return {Code::mismatch,
          cat(message.substr(0, end == std::string::npos ? message.size() : end + 1), " Call ",
              position_, " of process set ", set_, ": ", by_rank_text(sent),
              ". Under order=program every rank makes the same calls in the same order."),
          {.rank = -1, .host = {}, .pid = 0, .tensor = meeting_name(position_)}};
}

std::string Parley::readable(std::string text) const {
  const auto call = std::find_if(calls_.begin(), calls_.end(),
                                 [](const auto& each) { return each.has_value(); });
  if (call == calls_.end()) return text;
  const Request& first = (*call)->first();
  const std::string& name = first.group.empty() ? first.name : first.group;
  text = replaced(std::move(text), cat(meeting_name(position_), "/group"), name);
  return replaced(std::move(text), meeting_name(position_), name);
}

}  // namespace unisono::order
