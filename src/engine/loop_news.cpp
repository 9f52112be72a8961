// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the loop does besides operations: leaving in good order, and telling who is slow.
#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "engine/control.hpp"
#include "engine/loop.hpp"

namespace unisono {
namespace {
// How long a leaving rank waits for the others to take note before it goes regardless.
constexpr Nanos kLeaveLimit = std::chrono::seconds(2);
}  // namespace

// A few bytes once per heartbeat, and only while something moves.
void Loop::tell_waits() {
  const auto world = sets_.find(0);
  const RankWait wait = world == sets_.end() ? RankWait{} : world->second->take_wait();
  const Rank me = parts_.transport->rank();
  if (me != 0) {
    if (wait.tensors > 0 && !gone_[0]) parts_.transport->post(0, encode_wait(wait));
    return;
  }
  waits_[0] = wait;
  // Ranks beat at their own times: a report that just missed this beat is in the one before.
  std::vector<RankWait> latest = waits_;
  for (std::size_t i = 0; i < latest.size(); ++i) {
    if (latest[i].tensors == 0) latest[i] = earlier_waits_[i];
  }
  earlier_waits_ = std::exchange(waits_, std::vector<RankWait>(waits_.size()));
  const SlowRank slow = find_slow_rank(latest);
  if (wait.tensors == 0) return;
  judge(slow);
  for (const PeerInfo& peer : parts_.peers) {
    if (peer.rank != me && !gone_[static_cast<std::size_t>(peer.rank)]) {
      parts_.transport->post(peer.rank, encode_verdict(slow));
    }
  }
}

void Loop::judge(const SlowRank& slow) {
  const bool news = slow.rank != slow_.rank;
  slow_ = slow;
  const std::string who =
      slow.rank < 0 ? std::string() : parts_.peers[static_cast<std::size_t>(slow.rank)].to_string();
  std::string sentence = verdict_sentence(slow, who);
  if (news && slow.rank >= 0 && parts_.transport->rank() == 0) log_line(LogLevel::info, sentence);
  parts_.publish_slow(slow, std::move(sentence));
}

void Loop::begin_leaving(Time now) {
  if (leaving()) return;
  leave_by_ = now + kLeaveLimit;
  if (!failed_.ok()) return;
  for (auto& [id, set] : sets_) {
    const Rank coordinator = set->members().rank_of(0);
    if (coordinator == parts_.transport->rank()) continue;
    leave_granted_[id] = std::nullopt;
    if (!gone_[static_cast<std::size_t>(coordinator)]) {
      parts_.transport->post(coordinator, encode_leave(ControlKind::leave_request, id));
    }
  }
}

// First every coordinator grants the leave and what was agreed before is finished, then goodbye.
void Loop::keep_leaving(Time now) {
  const bool late = now >= leave_by_;
  if (!said_goodbye_) {
    bool granted = true;
    for (const auto& [id, responses] : leave_granted_) {
      const auto set = sets_.find(id);
      if (set == sets_.end()) continue;
      const auto first = static_cast<std::size_t>(set->second->members().rank_of(0));
      granted &= (responses && set->second->negotiated() >= *responses) || gone_[first];
    }
    const bool drained = std::all_of(sets_.begin(), sets_.end(),
                                     [](const auto& set) { return set.second->drained(); });
    if (failed_.ok() && !(granted && drained) && !late) return;
    for (auto& [id, set] : sets_) {
      keep(set->stop(shut_down_status()));
    }
    for (auto& [id, persistent] : persistents_) {
      if (auto run = persistent->stop(shut_down_status())) abandoned_.push_back(std::move(run));
    }
    fail_all_pending(shut_down_status());
    parts_.transport->leave();
    said_goodbye_ = true;
  }
  finished_ = parts_.transport->left() || late;
}

}  // namespace unisono
