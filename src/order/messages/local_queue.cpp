// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/messages/local_queue.hpp"

#include <utility>

#include "base/check.hpp"

namespace unisono::order {

void LocalQueue::submit(Request request, Time now) {
  if (spare_.empty()) {
    spare_.push_back(static_cast<std::uint32_t>(entries_.size()));
    entries_.push_back(std::make_unique<Entry>());
  }
  const std::uint32_t number = spare_.back();
  spare_.pop_back();
  UNISONO_CHECK(find(request.name) == nullptr);
  Entry& entry = *entries_[number];
  if (pool_ != nullptr) {
    entry.request_ = &pool_->share(std::move(request));
  } else {
    if (!entry.own_) entry.own_ = std::make_unique<Request>();
    *entry.own_ = std::move(request);
    entry.request_ = entry.own_.get();
  }
  entry.since = now;
  entry.turn = submitted_++;
  entry.message = 0;
  entry.next = nullptr;
  entry.position = -1;
  entry.number = number;
  entry.waits = true;
  numbers_.insert(entry.request().name, number);
  route(entry);
}

void LocalQueue::route(Entry& entry) {
  if (joining_) {
    held_.push_back(&entry);
    return;
  }
  const Request& request = entry.request();
  joining_ = request.kind == Collective::join;
  if (request.group.empty()) {
    unsent_.push_back(&entry);
    return;
  }
  const auto it = partial_.try_emplace(request.group).first;
  auto& collected = it->second;
  UNISONO_CHECK(request.group_size > 0);
  UNISONO_CHECK(collected.empty() ||
                collected.front()->request().group_size == request.group_size);
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
  const std::uint32_t number = numbers_.find(
      name, [&](std::uint32_t each) { return entries_[each]->request().name == name; });
  return number == NameIndex::kNone ? nullptr : entries_[number].get();
}

Request LocalQueue::finish(Entry& entry) {
  numbers_.erase(entry.request().name, [&](std::uint32_t each) { return each == entry.number; });
  entry.waits = false;
  spare_.push_back(entry.number);
  Request request = entry.own_ ? std::move(*entry.own_) : Request(entry.request());
  entry.request_ = nullptr;
  if (request.kind == Collective::join) {
    joining_ = false;
    for (Entry* held : std::exchange(held_, {})) route(*held);
  }
  return request;
}

std::vector<Request> LocalQueue::release() {
  std::vector<Entry*> entries;
  for (const auto& entry : entries_) {
    if (entry->waits) entries.push_back(entry.get());
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry* a, const Entry* b) { return a->turn < b->turn; });
  std::vector<Request> requests;
  for (Entry* entry : entries) requests.push_back(entry->request());
  clear();
  return requests;
}

std::vector<Request> LocalQueue::abandon() {
  std::vector<Request> requests;
  for (const auto& entry : entries_) {
    if (!entry->waits) continue;
    Request request;
    request.name = entry->request().name;
    request.kind = entry->request().kind;
    requests.push_back(std::move(request));
  }
  std::sort(requests.begin(), requests.end(),
            [](const Request& a, const Request& b) { return a.name < b.name; });
  clear();
  return requests;
}

void LocalQueue::clear() {
  entries_.clear();
  spare_.clear();
  numbers_.clear();
  partial_.clear();
  unsent_.clear();
  held_.clear();
  joining_ = false;
}

}  // namespace unisono::order
