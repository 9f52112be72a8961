// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What comes down the tree: the root decides rounds, and every member applies them alike.
#include <algorithm>

#include "base/check.hpp"
#include "order/tree/tree.hpp"

namespace unisono::order {
namespace {

std::int32_t priority_of(const CachedResponse& cached) {
  std::int32_t highest = cached.tensors.front().priority;
  for (const Request& tensor : cached.tensors) highest = std::max(highest, tensor.priority);
  return highest;
}

}  // namespace

bool TreeOrder::must_clear() const {
  return caching_ && (root_->tally.anyone_joined() || root_->tally.anyone_left());
}

void TreeOrder::decide(Time now, OrderOutput& out) {
  DownMessage down;
  down.round = round_ + 1;
  down.clear = must_clear();
  std::vector<Tally::Cached> hits;
  if (!down.clear) {
    down.erased = root_->erase;
    std::sort(down.erased.begin(), down.erased.end());
    std::sort(root_->ready.begin(), root_->ready.end());
    for (const std::uint32_t position : root_->ready) {
      if (std::binary_search(down.erased.begin(), down.erased.end(), position)) continue;
      hits.push_back({priority_of(*cache_.at(position)), position});
    }
    root_->ready.clear();
  }
  down.answers = root_->tally.next_round(now, out.stalls, hits, down.inquiries);
  if (down.empty()) return;
  if (!children_.empty()) post_down(encode_down(down), out);
  const bool sound = apply(down, now);
  UNISONO_CHECK(sound);
  emit(out);
}

Status TreeOrder::receive_down(std::span<const std::byte> message, Time now) {
  const Rank from = ancestors_.front();
  auto down = decode_down(from, message, shape_.members, set_, next_sequence_);
  if (!down.ok()) return down.status();
  if (down->round != round_ + 1) return malformed(from, "it is out of sequence");
  for (const std::uint32_t position : down->erased) {
    if (position >= cache_.positions() || cache_.at(position) == nullptr) {
      return malformed(from, "it erases an empty position");
    }
  }
  if (!apply(down.value(), now)) return malformed(from, "it answers what was never asked");
  if (!children_.empty()) relays_.emplace_back(message.begin(), message.end());
  return {};
}

// Erases come first; positions among the answers are those before the round; then the answers
// change the cache one after the other.
bool TreeOrder::apply(DownMessage& down, Time now) {
  round_ = down.round;
  if (down.clear) {
    cache_.clear(round_);
    caching_ = false;
  }
  for (const std::uint32_t position : down.erased) cache_.erase(position, round_);
  send_dropped_again();
  const std::size_t before = local_.waiting();
  std::vector<std::vector<Request>> own(down.answers.size());
  for (std::size_t i = 0; i < down.answers.size(); ++i) {
    if (down.answers[i].position < 0) note_answered(down.answers[i]);
    if (!settle(down.answers[i], own[i])) return false;
  }
  std::vector<Response> responses;
  responses.reserve(down.answers.size());
  for (std::size_t i = 0; i < down.answers.size(); ++i) {
    remember(down.answers[i], std::move(own[i]));
    responses.push_back(std::move(down.answers[i].response));
  }
  send_dropped_again();
  for (const std::string& name : down.inquiries) answer_inquiry(name, now);
  unemitted_ += before - local_.waiting();
  next_sequence_ += responses.size();
  if (!responses.empty()) rounds_.push_back(std::move(responses));
  return true;
}

// Tells what is held on the way that the names are answered, for those the answer counted.
void TreeOrder::note_answered(const Answer& answer) {
  if (!held_) return;
  const bool failed = !answer.response.error.ok();
  for (std::size_t i = 0; i < answer.response.tensors.size(); ++i) {
    const MemberBits* counted = failed ? &answer.counted[i] : nullptr;
    const Request& tensor = answer.response.tensors[i];
    if (tensor.kind == Collective::join) {
      held_->join_answered(counted);
    } else {
      held_->answered(tensor.name, counted);
    }
  }
}

bool TreeOrder::settle(Answer& answer, std::vector<Request>& own) {
  if (answer.position >= 0) return settle_hit(answer, own);
  const auto sent = [](const Entry& entry) { return entry.message != 0 && entry.position < 0; };
  // The root has the whole of every response.
  if (answer.alike && !root_) {
    if (caches_) counts_.cache_misses += answer.response.tensors.size();
    return local_.complete(answer.response, sent);
  }
  const bool failed = !answer.response.error.ok();
  std::vector<Request> mine =
      local_.answered(answer.response, [&](const Entry& entry, std::size_t i) {
        return sent(entry) && (!failed || answer.counted[i].test(me_));
      });
  if (caches_) counts_.cache_misses += mine.size();
  if (!answer.alike) own = std::move(mine);
  return true;
}

bool TreeOrder::settle_hit(Answer& answer, std::vector<Request>& own) {
  const auto position = static_cast<std::uint32_t>(answer.position);
  if (position >= mine_.size() || mine_[position] == nullptr) return false;
  const CachedResponse& cached = *cache_.at(position);
  const bool canonical = cache_.own_is_canonical(position);
  std::vector<Request>& mine = canonical ? answer.response.tensors : own;
  mine.reserve(cached.tensors.size());
  for (Entry* entry = std::exchange(mine_[position], nullptr); entry != nullptr;) {
    Entry* const next = entry->next;
    mine.push_back(local_.finish(*entry));
    entry = next;
  }
  counts_.cache_hits += mine.size();
  if (!canonical) answer.response.tensors = cached.tensors;
  answer.response.extents = cached.extents;
  --bits_under_way_;
  return true;
}

void TreeOrder::remember(const Answer& answer, std::vector<Request> own) {
  const Response& response = answer.response;
  if (answer.position < 0 && caches_) {
    const bool join = std::any_of(response.tensors.begin(), response.tensors.end(),
                                  [](const Request& t) { return t.kind == Collective::join; });
    if (join) caching_ = true;
  }
  if (!caching_) return;
  if (answer.position >= 0) {
    const auto position = static_cast<std::uint32_t>(answer.position);
    if (cache_.changed_in(position) != round_) {
      cache_.touch(position);
      return;
    }
    // The entry gave way earlier in this round.
  }
  if (!CacheStore::cacheable(response)) return;
  if (own.size() != response.tensors.size()) own.clear();
  cache_.insert(response, std::move(own), round_);
}

void TreeOrder::send_dropped_again() {
  for (const std::uint32_t position : cache_.take_dropped()) {
    if (board_) board_->reset(position);
    if (position < asked_.size()) asked_[position] = false;
    batch_.forget(position);
    if (root_) {
      std::erase(root_->ready, position);
      std::erase(root_->erase, position);
    }
    if (position >= mine_.size() || mine_[position] == nullptr) continue;
    for (Entry* entry = std::exchange(mine_[position], nullptr); entry != nullptr;) {
      Entry* const next = entry->next;
      local_.send_again(*entry);
      entry = next;
    }
    --bits_under_way_;
  }
}

void TreeOrder::answer_inquiry(const std::string& name, Time now) {
  if (root_) return;
  if (held_) held_->inquire(name, now, batch_);
  if (local_.find(name) != nullptr) return;
  batch_.activity({me_, last_name_, last_name_.empty() ? Nanos(0) : now - last_at_});
}

void TreeOrder::post_down(const std::vector<std::byte>& message, OrderOutput& out) const {
  for (const Child& child : children_) {
    if (!child.left) out.messages.push_back({child.rank, message});
  }
}

void TreeOrder::emit(OrderOutput& out) {
  if (rounds_.empty()) return;
  for (Response& response : rounds_.front()) {
    local_.drop_resubmitted(response);
    out.responses.push_back(std::move(response));
  }
  rounds_.pop_front();
  if (rounds_.empty()) unemitted_ = 0;
}

void TreeOrder::fail_own(OrderOutput& out) {
  for (Request& request : local_.abandon()) {
    out.responses.push_back(
        peer_left_response(*left_above_, std::move(request), set_, next_sequence_++));
  }
  mine_.clear();
  bits_under_way_ = 0;
  join_held_back_ = nullptr;
}

}  // namespace unisono::order
