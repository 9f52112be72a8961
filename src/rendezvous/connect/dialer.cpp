// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/connect/dialer.hpp"

#include <algorithm>
#include <utility>

#include "base/data/text.hpp"

namespace unisono::rendezvous {
namespace {
constexpr Nanos kPatienceFirst{300'000'000}, kPatienceMax{5'000'000'000};
// Between two rounds over all addresses, so that peers that refuse at once do not keep this busy.
constexpr Nanos kPauseFirst{2'000'000}, kPauseMax{100'000'000};
constexpr Nanos kCallBack{500'000'000};
}  // namespace

void Dialer::seek(Rank peer, std::vector<HostPort> addresses, std::uint32_t turn, bool sure) {
  Search search;
  search.peer = peer;
  search.addresses = std::move(addresses);
  search.turn = turn;
  if (!sure) search.grace = kCallBack;
  search.patience = kPatienceFirst;
  try_address(searches_.emplace_back(std::move(search)));
}

void Dialer::stop(Rank peer) {
  if (std::erase_if(searches_, [&](const Search& search) { return search.peer == peer; }) > 0) {
    bootstrap_.hang_up(as_.purpose, peer);
  }
}

// Only with several addresses is it worth saying which one it was.
void Dialer::note(Search& search, const std::string& what) {
  const HostPort& at = search.addresses[search.at];
  search.last =
      search.addresses.size() == 1 ? what : cat(address_text(at.host, at.port), ": ", what);
}

void Dialer::try_address(Search& search) {
  const HostPort& at = search.addresses[search.at];
  auto socket = start_tcp(at);
  if (!socket) {
    note(search, socket.status().message());
    return move_on(search);
  }
  Hello hello = as_;
  hello.to = search.peer;
  hello.turn = search.turn;
  bootstrap_.call(hello, std::move(*socket));
  search.calling = true;
  // With nowhere else to go there is no reason to give up while others may still come; later an
  // answer may have been lost.
  const bool waits = search.addresses.size() == 1 && peers_ == Peers::may_come;
  search.until = waits ? kNever : bootstrap_.now() + search.patience;
}

// The next address is tried at the next advance(), the first one of a new round after a pause.
void Dialer::move_on(Search& search) {
  search.calling = false;
  search.until = bootstrap_.now();
  if (++search.at < search.addresses.size()) return;
  search.at = 0;
  const Nanos pause = kPauseFirst * (search.patience / kPatienceFirst);
  search.until = search.until + std::min(pause, kPauseMax);
  search.patience = std::min(search.patience * 2, kPatienceMax);
}

Status Dialer::advance() {
  Status refused;
  for (Called& call : bootstrap_.called) {
    if (call.hello.purpose != as_.purpose) continue;
    const auto search = std::ranges::find(searches_, call.hello.to, &Search::peer);
    if (search == searches_.end() || !search->calling) continue;
    const HostPort& at = search->addresses[search->at];
    if (call.status.ok()) {
      answers.push_back({search->peer, at, std::move(call)});
      searches_.erase(search);
      continue;
    }
    const bool nobody = peers_ == Peers::listen && call.nobody_listens;
    if (nobody && search->nobody_since == Time()) search->nobody_since = bootstrap_.now();
    if (!nobody) search->nobody_since = Time();
    const bool has_ended = nobody && bootstrap_.now() - search->nobody_since >= search->grace;
    note(*search, nobody ? "nobody listens at its address any more" : call.status.message());
    const bool was_refused = has_ended || call.status.code() != Code::unavailable;
    if (was_refused && ++search->refusals == search->addresses.size() && refused.ok()) {
      refused = Status(call.status.code(), search->last, Culprit{search->peer, {}, 0, {}});
      searches_.erase(search);
      continue;
    }
    move_on(*search);
    if (search->at == 0) search->refusals = 0;
  }
  std::erase_if(bootstrap_.called,
                [&](const Called& call) { return call.hello.purpose == as_.purpose; });
  if (!refused.ok()) return refused;
  for (Search& search : searches_) {
    // Bounded: at most one round, since the next one begins after a pause.
    while (bootstrap_.now() >= search.until) {
      if (search.calling) {
        note(search, "it does not answer");
        bootstrap_.hang_up(as_.purpose, search.peer);
        move_on(search);
        if (search.at == 0) search.refusals = 0;
      } else {
        try_address(search);
      }
    }
  }
  return {};
}

Time Dialer::due() const {
  Time due = kNever;
  for (const Search& search : searches_) due = std::min(due, search.until);
  return due;
}

std::string Dialer::trouble() const { return searches_.empty() ? "" : searches_.front().last; }

}  // namespace unisono::rendezvous
