// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How ranks leave the job: this one in good order, others in good order, others lost; and who is to
// blame for what then cannot be done.
#include <algorithm>
#include <utility>

#include "engine/loop/loop.hpp"

namespace unisono::engine {

void Loop::begin_leaving(Time now) {
  if (leaving()) return;
  leave_.begin(now, blame_.leavers.in_order(table_.at(0)));
  if (!failed_.ok()) return;
  for (auto& [id, set] : sets_) {
    set->leave(now);
    if (set->members().rank_of(0) != parts_.transport->rank()) leave_.ask(id);
  }
  ask_to_leave();
}

// Coordinators that have not granted the leave yet. Asking again does no harm.
void Loop::ask_to_leave() {
  for (const auto& [id, set] : sets_) {
    const Rank coordinator = set->members().rank_of(0);
    if (!leave_.waits_for(id) || gone_[static_cast<std::size_t>(coordinator)]) continue;
    post(coordinator, encode_leave(ControlKind::leave_request, id));
  }
}

// Every coordinator has granted the leave, what was agreed before is finished, and so is the plan.
bool Loop::may_say_goodbye(Time now) const {
  return std::all_of(sets_.begin(), sets_.end(), [&](const auto& entry) {
    const auto& [id, set] = entry;
    const auto coordinator = static_cast<std::size_t>(set->members().rank_of(0));
    return (leave_.granted(id, set->negotiated()) || gone_[coordinator]) && set->drained() &&
           set->deadline() > now;
  });
}

void Loop::keep_leaving(Time now) {
  const bool late = now >= leave_.limit();
  if (!leave_.said_goodbye()) {
    if (failed_.ok() && !may_say_goodbye(now) && !late) return;
    // What waits for a connection is said before the goodbye, which others may hear from others.
    if (!parts_.transport->settled() && !late) return;
    if (!std::exchange(announced_, true)) tell_everybody(encode_departure(departure()));
    // Until those next to it know, it passes on what they route through it.
    if (parts_.overlay && failed_.ok() && !late && !passed_by_all()) return;
    for (auto& [id, set] : sets_) {
      keep(set->stop(shut_down_status()));
    }
    for (auto& [id, persistent] : persistents_) {
      if (auto run = persistent.runner->stop(shut_down_status()))
        abandoned_.push_back(std::move(run));
    }
    fail_all_pending(shut_down_status());
    parts_.transport->leave();
    leave_.say_goodbye();
  }
  finished_ = parts_.transport->left() || late;
}

Departure Loop::departure() const {
  Departure departure;
  departure.before = leave_.before();
  for (const auto& [id, set] : sets_) {
    if (!set->drained()) departure.unfinished.push_back(id);
  }
  for (const auto& [id, persistent] : persistents_) {
    departure.persistents.push_back(persistent.runner->identity());
    departure.runs.push_back(persistent.runner->completed());
  }
  return departure;
}

// Its goodbye comes next. It has finished whatever it does not name, so nobody waits for it there.
void Loop::depart(Rank from, const Departure& departure) {
  note_leaver(from);
  if (parts_.overlay && departing_.insert(from).second &&
      parts_.overlay->adjacent(parts_.transport->rank(), from)) {
    parts_.transport->post(from, encode_routes_around());
  }
  blame_.leavers.tell(from, departure.before);
  const Status status = blame_.left_in_the_middle(from);
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
    if (it == persistents_.end()) continue;
    const Members& members = it->second.runner->members();
    if (members.index_of(from) < 0) continue;
    // Others may have left because of the same rank, and their word may come first.
    const Status cause = blame_.first_cause(members, status);
    if (auto run = it->second.runner->end_after(departure.runs[i], cause)) {
      abandoned_.push_back(std::move(run));
    }
  }
  // Whoever was never connected with this rank says no goodbye to it.
  if (parts_.overlay && !parts_.transport->knows(from)) {
    parts_.transport->give_up(from);
    on_left(from);
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
  if (parts_.overlay && leaving()) ask_to_leave();  // the way through this peer may have lost it
  const Time now = parts_.shared.clock->now();
  plans_end_by_ = now + seconds_to_nanos(parts_.shared.options->dead_s);
  for (auto& [id, set] : sets_) {
    if (set->members().index_of(peer) >= 0) set->member_left(peer, now);
  }
}

// A plan that began just as a member left, without its knowledge, can hold a bucket that waits for
// it. No plan begins after that, so a set that is still in one is lonely.
void Loop::cancel_plans_without_leaver() {
  plans_end_by_ = kNever;
  std::vector<SetId> lonely;
  for (const auto& [id, set] : sets_) {
    if (set->in_plan() && blame_.leavers.first_of(set->members()) >= 0) lonely.push_back(id);
  }
  for (const SetId id : lonely) end_set(id, first_cause(id, Status(Code::peer_left, "")));
}

void Loop::on_lost(Rank peer, const Status& why) {
  gone_[static_cast<std::size_t>(peer)] = true;
  if (leaving() || !failed_.ok()) return;   // whoever leaves does not mind who else is gone
  blame_.suspect(peer, why, parts_.shared.clock->now());
}

void Loop::note_leaver(Rank rank) {
  if (!failed_.ok()) return;                // whoever leaves now does so because the job has failed
  blame_.leavers.note(rank);
}

void Loop::note_leavers(const std::vector<Rank>& ranks) {
  for (const Rank rank : ranks) note_leaver(rank);
}

// An operation is about to fail because a rank has left, and the program may end this process when
// it hears of that. Ranks that then lose this one have been told here whose end came first.
void Loop::tell_who_left() {
  if (told_who_left_) return;
  told_who_left_ = true;
  tell_everybody(encode_left(blame_.leavers.in_order(table_.at(0))));
}

Status Loop::first_cause(SetId set, const Status& status) const {
  const auto members = table_.find(set);
  return members == table_.end() ? status : blame_.first_cause(members->second, status);
}

Status Loop::name_peer(const Status& status, const Members& members) {
  if (status.code() == Code::peer_left) {
    note_leaver(status.culprit().rank);
    tell_who_left();
  }
  return blame_.named(status, members);
}

}  // namespace unisono::engine
