// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// For tests: N members of one set in one thread under virtual time. Messages arrive in an order
// drawn from the seed, first in first out between each pair.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "base/text.hpp"
#include "order/order.hpp"

namespace unisono {

// Every strategy runs the whole contract: one line adds one.
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
      : rng_(seed) {
    for (int i = 0; i < members; ++i) ranks_.push_back(rank(i));
    for (int i = 0; i < members; ++i) {
      orders_.push_back(make_order(strategy, Members::of(ranks_, rank(i)), settings));
    }
    rounds.resize(orders_.size());
    present_.assign(orders_.size(), true);
  }

  static Rank rank(int index) { return 10 + 2 * index; }
  int size() const { return static_cast<int>(orders_.size()); }
  Order& at(int index) { return *orders_[static_cast<std::size_t>(index)]; }
  Time now() const { return now_; }

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
    if (!out.responses.empty()) rounds[static_cast<std::size_t>(index)].push_back(out.responses);
    for (Stall& stall : out.stalls) stalls.push_back(std::move(stall));
    for (OrderMessage& message : out.messages) {
      ++messages_sent;
      bytes_sent += message.bytes.size();
      if (keep_messages) kept.push_back({rank(index), message.to, message.bytes});
      links_[{rank(index), message.to}].push_back(std::move(message.bytes));
    }
  }
  // Delivers the oldest message of a random link; false when all are empty.
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
  // Random single steps: members negotiate and messages arrive in any order.
  void shake(int steps) {
    for (int i = 0; i < steps; ++i) {
      if (rng_.below(2) == 0) {
        deliver_one();
      } else {
        negotiate_present(static_cast<int>(rng_.below(orders_.size())));
      }
    }
  }
  // Until nothing moves at this time.
  void settle() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (int i = 0; i < size(); ++i) {
        negotiate_present(i);
        moved |= present_[static_cast<std::size_t>(i)] && at(i).deadline() <= now_;
      }
      while (deliver_one()) moved = true;
    }
  }
  void advance(Nanos d) { now_ = now_ + d; }
  void leave(int index) {
    present_[static_cast<std::size_t>(index)] = false;
    for (int i = 0; i < size(); ++i) {
      if (present_[static_cast<std::size_t>(i)]) at(i).member_left(rank(index), now_);
    }
  }

  // One line per response, a rule between rounds: equal on members that agree.
  std::string log(int index) const {
    std::string out;
    for (const auto& round : rounds[static_cast<std::size_t>(index)]) {
      for (const Response& r : round) {
        ByteWriter bytes;
        encode(r, bytes);
        out += cat(std::string_view(reinterpret_cast<const char*>(bytes.bytes().data()),
                                    bytes.size()), "\n");
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

 private:
  void negotiate_present(int index) {
    if (present_[static_cast<std::size_t>(index)]) negotiate(index);
  }

  Rng rng_;
  Time now_{1};
  std::vector<Rank> ranks_;
  std::vector<std::unique_ptr<Order>> orders_;
  std::vector<bool> present_;
  std::map<std::pair<Rank, Rank>, std::deque<std::vector<std::byte>>> links_;
};

}  // namespace unisono
