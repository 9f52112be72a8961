// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/messages/local_queue.hpp"

#include <utility>

#include "base/check.hpp"

namespace unisono::order {

void LocalQueue::submit(Request request, Time now) {
  if (spare_.empty()) {
    Pending one;
    spare_.push_back(one.extract(one.emplace(std::string_view(), Entry{}).first));
  }
  Pending::node_type node = std::move(spare_.back());
  spare_.pop_back();
  node.mapped() = {std::move(request), now, submitted_++};
  node.key() = node.mapped().request.name;
  const auto inserted = pending_.insert(std::move(node));
  UNISONO_CHECK(inserted.inserted);
  route(inserted.position->second);
}

void LocalQueue::route(Entry& entry) {
  if (joining_) {
    held_.push_back(&entry);
    return;
  }
  const Request& request = entry.request;
  joining_ = request.kind == Collective::join;
  if (request.group.empty()) {
    unsent_.push_back(&entry);
    return;
  }
  const auto it = partial_.try_emplace(request.group).first;
  auto& collected = it->second;
  UNISONO_CHECK(request.group_size > 0);
  UNISONO_CHECK(collected.empty() ||
                collected.front()->request.group_size == request.group_size);
  collected.push_back(&entry);
  if (collected.size() < request.group_size) return;
  unsent_.insert(unsent_.end(), collected.begin(), collected.end());
  partial_.erase(it);
}

void LocalQueue::mark_sent() {
  ++messages_;
  for (Entry* entry : unsent_) entry->message = messages_;
  unsent_.clear();
}

void LocalQueue::send_again(Entry& entry) {
  entry.position = -1;
  entry.next = nullptr;
  unsent_.push_back(&entry);
}

LocalQueue::Entry* LocalQueue::find(std::string_view name) {
  const auto it = pending_.find(name);
  return it == pending_.end() ? nullptr : &it->second;
}

Request LocalQueue::finish(Entry& entry) {
  Pending::node_type node = pending_.extract(std::string_view(entry.request.name));
  Request request = std::move(node.mapped().request);
  spare_.push_back(std::move(node));
  if (request.kind == Collective::join) {
    joining_ = false;
    for (Entry* held : std::exchange(held_, {})) route(*held);
  }
  return request;
}

std::vector<Request> LocalQueue::release() {
  std::vector<Entry*> entries;
  for (auto& [name, entry] : pending_) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(),
            [](const Entry* a, const Entry* b) { return a->turn < b->turn; });
  std::vector<Request> requests;
  for (Entry* entry : entries) requests.push_back(entry->request);
  clear();
  return requests;
}

std::vector<Request> LocalQueue::abandon() {
  std::vector<Request> requests;
  for (auto& [name, entry] : pending_) {
    Request request;
    request.name = name;
    request.kind = entry.request.kind;
    requests.push_back(std::move(request));
  }
  std::sort(requests.begin(), requests.end(),
            [](const Request& a, const Request& b) { return a.name < b.name; });
  clear();
  return requests;
}

void LocalQueue::clear() {
  pending_.clear();
  partial_.clear();
  unsent_.clear();
  held_.clear();
  joining_ = false;
}

}  // namespace unisono::order
