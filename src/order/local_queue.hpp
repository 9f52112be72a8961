// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The requests of this rank that are not answered yet, and which of them may be sent.
//
// Groups leave whole. What is submitted after a join stays here until the join is answered, since
// until then this rank counts as having submitted everything.
// Thread: the owner's.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/response.hpp"
#include "order/groups.hpp"

namespace unisono {

class LocalQueue {
 public:
  explicit LocalQueue(int me) : me_(static_cast<std::uint32_t>(me)) {}

  void submit(Request request);
  bool has_unsent() const { return !unsent_.empty(); }
  const std::vector<Request>& unsent() const { return unsent_; }
  // What was unsent went out as this rank's next message; messages count from 1.
  void mark_sent();
  // The same, for the member that counts: gives the requests away.
  std::vector<Request> take();
  std::uint64_t messages() const { return messages_; }
  // Fills in tensors of which only the names came; false when one was not sent in one of the first
  // `counted` messages.
  bool complete(Response& response, std::uint64_t counted);
  // A Response is about to be run here, made when `counted` of this rank's messages had been
  // counted. A failure does not concern what was submitted since: those names are taken out of it,
  // so that a request is never failed here and run elsewhere.
  void answered(Response& response, std::uint64_t counted);
  // Gives up everything: names and kinds of what waited, in order of name.
  std::vector<Request> abandon();
  // The same with everything the requests said, in order of submission.
  std::vector<Request> release();
  std::size_t waiting() const { return pending_.size(); }

 private:
  struct Pending {
    Collective kind;
    std::uint64_t message = 0;          // in which it was sent; 0 = not yet
    std::uint64_t turn = 0;             // in order of submission
    Request request{};                  // until it is answered
  };
  void route(Request request);
  void release_held();

  std::uint32_t me_;
  std::unordered_map<std::string, Pending> pending_;
  GroupAssembler groups_;
  std::vector<Request> unsent_;
  std::vector<Request> held_;
  std::uint64_t messages_ = 0, submitted_ = 0;
  bool joining_ = false;
};

}  // namespace unisono
