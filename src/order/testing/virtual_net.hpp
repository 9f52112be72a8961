// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// For tests: N members of one set in one thread under virtual time. Messages arrive in an order
// drawn from the seed, first in first out between each pair.
//
// What was negotiated has run when it is given out, and ends some time later. What was planned runs
// when all members have come to it (virtual_moves.hpp); after a response whose vote was not run the
// planned ones are thrown away, as an engine does. `rounds` has only what ran.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/data/rng.hpp"
#include "base/data/text.hpp"
#include "order/order.hpp"
#include "order/testing/virtual_moves.hpp"

namespace unisono::order {

// Strategies that ask all members every time.
inline constexpr std::array kOrderStrategies = {
    "coordinator",
    "tree",
    "cache",
};

inline Request tensor_request(std::string name, Shape shape = {4}) {
  Request request;
  request.name = std::move(name);
  request.shape = std::move(shape);
  return request;
}

inline Request kind_request(std::string name, Collective kind) {
  Request request;
  request.name = std::move(name);
  request.kind = kind;
  return request;
}

inline std::vector<Request> group_request(const std::string& group,
                                          const std::vector<std::string>& names) {
  std::vector<Request> requests;
  for (const std::string& name : names) {
    requests.push_back(tensor_request(name));
    requests.back().group = group;
    requests.back().group_size = static_cast<std::uint32_t>(names.size());
  }
  return requests;
}

class VirtualNet {
 public:
  // Member i is global rank 10 + 2 i, so that indices and ranks are never confused.
  VirtualNet(std::string_view strategy, int members, std::uint64_t seed = 0,
             OrderSettings settings = {})
      : rng_(seed), moves_(static_cast<std::size_t>(members)) {
    for (int i = 0; i < members; ++i) ranks_.push_back(rank(i));
    for (int i = 0; i < members; ++i) {
      orders_.push_back(make_order(strategy, Members::of(ranks_, rank(i)), settings));
    }
    rounds.resize(orders_.size());
    unended_.resize(orders_.size());
    present_.assign(orders_.size(), true);
  }

  static Rank rank(int index) { return 10 + 2 * index; }
  int size() const { return static_cast<int>(orders_.size()); }
  Order& at(int index) { return *orders_[static_cast<std::size_t>(index)]; }
  Time now() const { return now_; }

  // Nothing of this member is in flight: any name may be submitted.
  bool idle(int index) {
    const auto& queue = unended_[static_cast<std::size_t>(index)];
    return at(index).waiting() == 0 && (queue.empty() || !queue.back().planned);
  }
  void submit(int index, Request request) { at(index).submit(std::move(request), now_); }
  void submit(int index, std::vector<Request> requests) {
    for (Request& request : requests) submit(index, std::move(request));
  }
  void submit_all(const Request& request) {
    for (int i = 0; i < size(); ++i) submit(i, request);
  }
  void negotiate(int index) {
    OrderOutput out;
    at(index).negotiate(now_, out);
    give_out(static_cast<std::size_t>(index), out.responses);
    for (Stall& stall : out.stalls) stalls.push_back(std::move(stall));
    for (OrderMessage& message : out.messages) {
      ++messages_sent;
      bytes_sent += message.bytes.size();
      if (keep_messages) kept.push_back({rank(index), message.to, message.bytes});
      links_[{rank(index), message.to}].push_back(std::move(message.bytes));
    }
  }
  // Delivers the oldest message of a random link; returns false when all are empty.
  bool deliver_one() {
    std::vector<std::pair<Rank, Rank>> busy;
    for (const auto& [link, queue] : links_) {
      if (!queue.empty()) busy.push_back(link);
    }
    if (busy.empty()) return false;
    const auto link = busy[rng_.below(busy.size())];
    auto& queue = links_[link];
    const auto bytes = std::move(queue.front());
    queue.pop_front();
    const int to = (link.second - 10) / 2;
    if (!present_[static_cast<std::size_t>(to)]) return true;
    const Status status = at(to).receive(link.first, bytes, now_);
    if (!status.ok()) faults.push_back(status);
    return true;
  }
  // Random single steps: members negotiate, messages arrive and responses end in any order.
  void shake(int steps) {
    for (int i = 0; i < steps; ++i) {
      const auto index = rng_.below(orders_.size());
      switch (rng_.below(5)) {
        case 0: move(index); break;
        case 1: case 2: deliver_one(); break;
        default: negotiate_present(static_cast<int>(index));
      }
    }
  }
  // Runs until nothing moves, in the time that `cycle` and `horizon` allow.
  void settle() {
    settle_now();
    for (int quiet = 0; cycle > Nanos(0) && quiet < kQuietRounds;) {
      const std::size_t before = progress();
      advance(cycle);
      settle_now();
      quiet = progress() == before ? quiet + 1 : 0;
    }
    for (Time next; horizon > Nanos(0) && (next = deadline()) <= now_ + horizon;) {
      now_ = next;
      settle_now();
    }
  }
  void advance(Nanos d) { now_ = now_ + d; }
  void leave(int index) {
    present_[static_cast<std::size_t>(index)] = false;
    moves_.leave(static_cast<std::size_t>(index));
    for (int i = 0; i < size(); ++i) {
      if (present_[static_cast<std::size_t>(i)]) at(i).member_left(rank(index), now_);
    }
  }

  // One line per response, a rule between rounds: equal on members that agree.
  std::string log(int index) const {
    std::string out;
    for (const auto& round : rounds[static_cast<std::size_t>(index)]) {
      for (const Response& r : round) {
        out += cat(text_of(r), "\n");
      }
      out += "--\n";
    }
    return out;
  }
  std::vector<Response> flat(int index) const {
    std::vector<Response> all;
    for (const auto& round : rounds[static_cast<std::size_t>(index)]) {
      all.insert(all.end(), round.begin(), round.end());
    }
    return all;
  }

  struct Kept {
    Rank from, to;
    std::vector<std::byte> bytes;
  };
  std::vector<std::vector<std::vector<Response>>> rounds;  // by member, by round
  std::vector<Stall> stalls;
  std::vector<Status> faults;
  std::vector<Kept> kept;
  bool keep_messages = false;
  std::size_t messages_sent = 0, bytes_sent = 0;
  std::size_t planned = 0;              // that ran, on all members together
  Nanos cycle{0};                       // of a paced set: settle() lets rounds pass
  Nanos horizon{0};                     // settle() waits for deadlines this near

 private:
  // A round may say something that only the next can answer, and so may that one.
  static constexpr int kQuietRounds = 3;

  void give_out(std::size_t index, std::vector<Response>& responses) {
    if (responses.empty()) return;
    for (const Response& response : responses) unended_[index].push_back(response);
    if (!responses.front().planned) rounds[index].push_back(std::move(responses));
  }
  // Enters or ends the oldest response of a member; returns false when it has to wait.
  bool move(std::size_t index) {
    auto& queue = unended_[index];
    if (queue.empty() || !present_[index]) return false;
    PlanVote vote = PlanVote::run;
    if (queue.front().planned) {
      if (!moves_.entered(index)) {
        const Response& next = queue.front();
        if (!moves_.enter(index, text_of(next), next.vote,
                          next.call != 0 ? next.call : next.choice)) {
          faults.push_back({Code::internal, cat("member ", index, " runs something of its own")});
        }
        return true;
      }
      const auto outcome = moves_.outcome(index);
      if (!outcome) return false;
      vote = *outcome;
      moves_.end(index);
    }
    const Response response = std::move(queue.front());
    queue.pop_front();
    if (response.planned && vote != PlanVote::abort) {
      ++planned;
      rounds[index].push_back({response});
    }
    if (vote != PlanVote::run) {
      for (const Response& later : queue) {
        if (!later.planned) faults.push_back({Code::internal, "it negotiates during a plan"});
      }
      queue.clear();
    }
    at(static_cast<int>(index)).ended(response.sequence, vote, now_);
    // Tests go on from what they find in `rounds`, so they have seen it.
    if (vote != PlanVote::abort) at(static_cast<int>(index)).observed(response.sequence);
    return true;
  }
  static std::string text_of(const Response& response) {
    ByteWriter bytes;
    encode_response(response, bytes);
    return {reinterpret_cast<const char*>(bytes.bytes().data()), bytes.size()};
  }
  // Runs until nothing moves at this time.
  void settle_now() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int i = 0; i < size(); ++i) {
        negotiate_present(i);
        moved |= present_[static_cast<std::size_t>(i)] && at(i).deadline() <= now_;
        while (move(static_cast<std::size_t>(i))) moved = true;
      }
      while (deliver_one()) moved = true;
    }
  }
  Time deadline() const {
    Time next = kNever;
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      if (present_[i]) next = std::min(next, orders_[i]->deadline());
    }
    return next;
  }
  // Differs from an earlier one when something was answered or reported since.
  std::size_t progress() const {
    std::size_t sum = stalls.size();
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      if (present_[i]) sum += orders_[i]->waiting() + 1'000'003 * rounds[i].size();
    }
    return sum;
  }
  void negotiate_present(int index) {
    if (present_[static_cast<std::size_t>(index)]) negotiate(index);
  }

  Rng rng_;
  Time now_{1};
  std::vector<Rank> ranks_;
  std::vector<std::unique_ptr<Order>> orders_;
  std::vector<bool> present_;
  VirtualMoves moves_;
  std::vector<std::deque<Response>> unended_;  // by member
  std::map<std::pair<Rank, Rank>, std::deque<std::vector<std::byte>>> links_;
};

}  // namespace unisono::order
