// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/local_queue.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.hpp"

namespace unisono {

void LocalQueue::submit(Request request) {
  const bool fresh =
      pending_.emplace(request.name, Pending{request.kind, 0, submitted_++, request}).second;
  UNISONO_CHECK(fresh);
  route(std::move(request));
}

void LocalQueue::route(Request request) {
  if (joining_) {
    held_.push_back(std::move(request));
    return;
  }
  joining_ = request.kind == Collective::join;
  groups_.add(std::move(request), unsent_);
}

std::vector<Request> LocalQueue::take() {
  ++messages_;
  for (const Request& request : unsent_) pending_.find(request.name)->second.message = messages_;
  return std::exchange(unsent_, {});
}

void LocalQueue::mark_sent() {
  ++messages_;
  for (const Request& request : unsent_) pending_.find(request.name)->second.message = messages_;
  unsent_.clear();
}

bool LocalQueue::complete(Response& response, std::uint64_t counted) {
  for (Request& tensor : response.tensors) {
    const auto it = pending_.find(tensor.name);
    if (it == pending_.end()) return false;
    Pending& pending = it->second;
    // Each request answers once; what was given away has no name any more.
    if (pending.message == 0 || pending.message > counted || pending.request.name.empty()) {
      return false;
    }
    tensor = std::move(pending.request);
    pending.request.name.clear();
  }
  return true;
}

void LocalQueue::answered(Response& response, std::uint64_t counted) {
  const bool absent = std::find(response.absent.begin(), response.absent.end(), me_) !=
                      response.absent.end();
  if (absent) return;
  bool join_done = false;
  std::erase_if(response.tensors, [&](const Request& tensor) {
    const auto it = pending_.find(tensor.name);
    if (it == pending_.end()) return false;
    const bool unseen = it->second.message == 0 || it->second.message > counted;
    if (unseen) return !response.error.ok();
    join_done |= it->second.kind == Collective::join;
    pending_.erase(it);
    return false;
  });
  if (join_done) release_held();
}

void LocalQueue::release_held() {
  joining_ = false;
  for (Request& request : std::exchange(held_, {})) route(std::move(request));
}

std::vector<Request> LocalQueue::release() {
  std::map<std::uint64_t, Request> waiting;
  for (auto& [name, pending] : pending_) {
    // Answered already when its request was given away: a round not emitted yet.
    if (!pending.request.name.empty()) waiting[pending.turn] = std::move(pending.request);
  }
  abandon();
  std::vector<Request> requests;
  for (auto& [turn, request] : waiting) requests.push_back(std::move(request));
  return requests;
}

std::vector<Request> LocalQueue::abandon() {
  std::vector<Request> requests;
  for (auto& [name, pending] : pending_) {
    Request request;
    request.name = name;
    request.kind = pending.kind;
    requests.push_back(std::move(request));
  }
  std::sort(requests.begin(), requests.end(),
            [](const Request& a, const Request& b) { return a.name < b.name; });
  pending_.clear();
  groups_.clear();
  unsent_.clear();
  held_.clear();
  joining_ = false;
  return requests;
}

}  // namespace unisono
