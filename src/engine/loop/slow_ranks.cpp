// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the ranks tell each other about who is slow.
#include "base/log.hpp"
#include "engine/control/control.hpp"
#include "engine/loop/loop.hpp"

namespace unisono::engine {

// A few bytes once per heartbeat, and only while something moves.
void Loop::tell_waits() {
  const auto world = sets_.find(0);
  const observe::RankWait wait =
      world == sets_.end() ? observe::RankWait{} : world->second->take_wait();
  const Rank me = parts_.transport->rank();
  if (me != 0) {
    if (wait.tensors > 0 && !gone_[0]) post(0, encode_wait(wait));
    return;
  }
  const auto slow = stragglers_.judge(wait);
  if (!slow) return;
  publish(*slow);
  for (const PeerInfo& peer : parts_.peers) {
    if (peer.rank != me && !gone_[static_cast<std::size_t>(peer.rank)]) {
      post(peer.rank, encode_verdict(*slow));
    }
  }
}

void Loop::publish(const observe::SlowRank& slow) {
  const bool news = stragglers_.is_news(slow);
  const std::string who =
      slow.rank < 0 ? std::string() : parts_.peers[static_cast<std::size_t>(slow.rank)].to_string();
  std::string sentence = observe::verdict_sentence(slow, who);
  if (news && slow.rank >= 0 && parts_.transport->rank() == 0) log_line(LogLevel::info, sentence);
  parts_.publish_slow(slow, std::move(sentence));
}

}  // namespace unisono::engine
