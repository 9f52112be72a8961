// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How ranks leave the job: this one in good order, others in good order, others lost; and who is to
// blame for what then cannot be done.
#include <algorithm>
#include <utility>

#include "base/data/text.hpp"
#include "engine/loop/loop.hpp"
#include "order/agree/tally.hpp"

namespace unisono::engine {
namespace {
// How long a leaving rank waits for the others to take note before it goes regardless.
constexpr Nanos kLeaveLimit = std::chrono::seconds(2);
// A rank that was lost may have ended because of another, whose end is about to be seen, too, or is
// told by a third. So long is listened before it is blamed: long enough for the third to get a core
// back on a crowded machine, where 10 ms were not.
constexpr Nanos kBlameGrace = std::chrono::milliseconds(50);
}  // namespace

void Loop::begin_leaving(Time now) {
  if (leaving()) return;
  leave_by_ = now + kLeaveLimit;
  left_before_me_ = leavers_.in_order(table_.at(0));
  if (!failed_.ok()) return;
  for (auto& [id, set] : sets_) {
    set->leave(now);
    const Rank coordinator = set->members().rank_of(0);
    if (coordinator == parts_.transport->rank()) continue;
    leave_granted_[id] = std::nullopt;
    if (!gone_[static_cast<std::size_t>(coordinator)]) {
      parts_.transport->post(coordinator, encode_leave(ControlKind::leave_request, id));
    }
  }
}

// Every coordinator has granted the leave, what was agreed before is finished, and so is the plan.
bool Loop::may_say_goodbye(Time now) const {
  for (const auto& [id, responses] : leave_granted_) {
    const auto set = sets_.find(id);
    if (set == sets_.end()) continue;
    const auto first = static_cast<std::size_t>(set->second->members().rank_of(0));
    const bool granted = responses && set->second->negotiated() >= *responses;
    if (!granted && !gone_[first]) return false;
  }
  return std::all_of(sets_.begin(), sets_.end(), [&](const auto& set) {
    return set.second->drained() && set.second->deadline() > now;
  });
}

void Loop::keep_leaving(Time now) {
  const bool late = now >= leave_by_;
  if (!said_goodbye_) {
    if (failed_.ok() && !may_say_goodbye(now) && !late) return;
    const auto note = encode_departure(departure());
    for (const PeerInfo& peer : parts_.peers) {
      if (peer.rank == parts_.transport->rank()) continue;
      if (!gone_[static_cast<std::size_t>(peer.rank)]) parts_.transport->post(peer.rank, note);
    }
    for (auto& [id, set] : sets_) {
      keep(set->stop(shut_down_status()));
    }
    for (auto& [id, persistent] : persistents_) {
      if (auto run = persistent.runner->stop(shut_down_status()))
        abandoned_.push_back(std::move(run));
    }
    fail_all_pending(shut_down_status());
    parts_.transport->leave();
    said_goodbye_ = true;
  }
  finished_ = parts_.transport->left() || late;
}

Departure Loop::departure() const {
  Departure departure;
  departure.before = left_before_me_;
  for (const auto& [id, set] : sets_) {
    if (!set->drained()) departure.unfinished.push_back(id);
  }
  for (const auto& [id, persistent] : persistents_) {
    departure.persistents.push_back(persistent.runner->identity());
    departure.runs.push_back(persistent.runner->completed());
  }
  return departure;
}

Status Loop::left_in_the_middle(Rank rank) const {
  const PeerInfo& peer = parts_.peers[static_cast<std::size_t>(rank)];
  return Status(Code::peer_left,
                cat(peer.to_string(),
                    " has shut down in the middle of a collective. "
                    "Let all ranks run the same number of operations, or join before leaving."),
                Culprit{peer.rank, peer.host, peer.pid, {}});
}

// Its goodbye comes next. Whatever it does not name it has finished, so nobody waits for it there.
void Loop::depart(Rank from, const Departure& departure) {
  note_leaver(from);
  leavers_.tell(from, departure.before);
  const Status status = left_in_the_middle(from);
  for (const SetId id : departure.unfinished) {
    const auto set = sets_.find(id);
    if (set != sets_.end() && set->second->members().index_of(from) >= 0) {
      end_set(id, first_cause(id, status));
    }
  }
  for (std::size_t i = 0; i < departure.persistents.size(); ++i) {
    const auto it = std::find_if(persistents_.begin(), persistents_.end(), [&](const auto& entry) {
      return entry.second.runner->identity() == departure.persistents[i];
    });
    if (it == persistents_.end() || it->second.runner->members().index_of(from) < 0) continue;
    if (auto run = it->second.runner->end_after(departure.runs[i], status)) {
      abandoned_.push_back(std::move(run));
    }
  }
}

void Loop::end_set(SetId id, const Status& status) {
  if (status.code() == Code::peer_left) tell_who_left();
  const auto set = sets_.find(id);
  keep(set->second->stop(status));
  for (Pending& pending : pendings_.take_all(id)) {
    observe::Counters::add(parts_.shared.counters->operations_failed);
    submit::resolve(pending, run::name_tensor(status, pending.request),
            [this](const Request& request) { release_name(request); });
  }
  ended_sets_[id] = {std::move(set->second), status};
  sets_.erase(set);
}

void Loop::on_left(Rank peer) {
  gone_[static_cast<std::size_t>(peer)] = true;
  note_leaver(peer);
  if (!failed_.ok()) return;
  const Time now = parts_.shared.clock->now();
  plans_end_by_ = now + seconds_to_nanos(parts_.shared.options->dead_s);
  for (auto& [id, set] : sets_) {
    if (set->members().index_of(peer) >= 0) set->member_left(peer, now);
  }
}

// A plan that began just as a member left, unknown to it, can hold a bucket that waits for it. No plan
// begins after that, so what is still in one is lonely.
void Loop::cancel_plans_without_leaver() {
  plans_end_by_ = kNever;
  std::vector<SetId> lonely;
  for (const auto& [id, set] : sets_) {
    if (set->in_plan() && leavers_.first_of(set->members()) >= 0) lonely.push_back(id);
  }
  for (const SetId id : lonely) end_set(id, first_cause(id, Status(Code::peer_left, "")));
}

void Loop::on_lost(Rank peer, const Status& why) {
  gone_[static_cast<std::size_t>(peer)] = true;
  if (leaving() || !failed_.ok()) return;   // whoever leaves does not mind who else is gone
  suspects_.emplace_back(peer, why);
  if (blame_at_ == kNever) blame_at_ = parts_.shared.clock->now() + kBlameGrace;
}

// Nobody has named another meanwhile. When several are gone, all survivors that see so choose alike.
void Loop::blame_suspect() {
  blame_at_ = kNever;
  const auto lowest =
      std::min_element(suspects_.begin(), suspects_.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
  fail_job(lowest->second);
}

void Loop::note_leaver(Rank rank) {
  if (!failed_.ok()) return;                // whoever leaves now does so because the job has failed
  leavers_.note(rank);
}

void Loop::note_leavers(const std::vector<Rank>& ranks) {
  for (const Rank rank : ranks) note_leaver(rank);
}

// An operation is about to fail because a rank has left, and the program may end this process when it
// hears of it. Others who then lose this rank have read here whose end came first.
void Loop::tell_who_left() {
  if (told_who_left_) return;
  told_who_left_ = true;
  const auto note = encode_left(leavers_.in_order(table_.at(0)));
  for (const PeerInfo& peer : parts_.peers) {
    if (peer.rank == parts_.transport->rank()) continue;
    if (!gone_[static_cast<std::size_t>(peer.rank)]) parts_.transport->post(peer.rank, note);
  }
}

// What a loss or a leave means for an operation of the set: it could not have run since the first of
// its members left.
Status Loop::first_cause(SetId set, const Status& status) const {
  if (status.code() != Code::peer_left && status.code() != Code::peer_lost) return status;
  const auto members = table_.find(set);
  if (members == table_.end()) return status;
  const Rank first = leavers_.first_of(members->second);
  if (first < 0 || (first == status.culprit().rank && status.code() == Code::peer_left))
    return status;
  const PeerInfo& peer = parts_.peers[static_cast<std::size_t>(first)];
  Culprit culprit{peer.rank, peer.host, peer.pid, status.culprit().tensor};
  if (!culprit.tensor.empty()) {
    return Status(Code::peer_left, order::peer_left_error(first, culprit.tensor).message(),
                  std::move(culprit));
  }
  return Status(Code::peer_left,
                cat(peer.to_string(),
                    " has shut down, and its process set needs every rank. Let all "
                    "ranks run the same number of operations, or join before leaving."),
                std::move(culprit));
}

// An order knows ranks only; the engine knows who they are, and who left before whom.
Status Loop::name_peer(const Status& status, const Members& members) {
  Culprit culprit = status.culprit();
  const bool known = culprit.rank >= 0 && culprit.rank < parts_.transport->size();
  if (!known || !culprit.host.empty()) return status;
  std::string message = status.message();
  if (status.code() == Code::peer_left) {
    note_leaver(culprit.rank);
    if (const Rank first = leavers_.first_of(members); first >= 0 && first != culprit.rank) {
      culprit.rank = first;
      message = order::peer_left_error(first, culprit.tensor).message();
    }
    tell_who_left();
  }
  const PeerInfo& peer = parts_.peers[static_cast<std::size_t>(culprit.rank)];
  culprit.host = peer.host;
  culprit.pid = peer.pid;
  return Status(status.code(), std::move(message), std::move(culprit));
}

}  // namespace unisono::engine
