// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/cache/store.hpp"

#include <algorithm>
#include <utility>

namespace unisono::order {
std::shared_ptr<const CachedResponse> CachePool::share(const Response& response) {
  // Members answer the same at the same place of the sequence, so that alone finds the entry.
  const std::uint64_t key = response.sequence ^ (static_cast<std::uint64_t>(response.set) << 40);
  auto& kept = entries_[key];
  if (auto entry = kept.lock();
      entry && entry->tensors == response.tensors && entry->extents == response.extents) {
    return entry;
  }
  auto fresh = std::make_shared<const CachedResponse>(
      CachedResponse{response.tensors, response.extents});
  kept = fresh;
  if (entries_.size() >= sweep_at_) {
    std::erase_if(entries_, [](const auto& item) { return item.second.expired(); });
    sweep_at_ = std::max<std::size_t>(1024, 2 * entries_.size());
  }
  return fresh;
}

bool CacheStore::cacheable(const Response& response) {
  return response.error.ok() && response.absent.empty() &&
         std::all_of(response.tensors.begin(), response.tensors.end(),
                     [](const Request& tensor) { return traits_of(tensor.kind).cacheable(); });
}

std::uint32_t CacheStore::tensor_of(std::uint32_t position, std::string_view name) const {
  const std::vector<Request>& tensors = slots_[position].entry->tensors;
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].name == name) return i;
  }
  return kNone;
}

std::optional<CacheStore::Place> CacheStore::find(std::string_view name) const {
  std::uint32_t tensor = kNone;
  const std::uint32_t position = positions_.find(name, [&](std::uint32_t each) {
    tensor = tensor_of(each, name);
    return tensor != kNone;
  });
  if (position == NameIndex::kNone) return std::nullopt;
  return Place{position, tensor};
}

const Request& CacheStore::own(Place place) const {
  const Slot& slot = slots_[place.position];
  return slot.own ? (*slot.own)[place.tensor] : slot.entry->tensors[place.tensor];
}

void CacheStore::insert(const Response& response, std::vector<Request> own, std::uint64_t round) {
  if (capacity_ == 0) return;
  for (const Request& tensor : response.tensors) {
    if (const auto place = find(tensor.name)) erase(place->position, round);
  }
  const std::uint32_t position = vacancy(round);
  Slot& slot = slots_[position];
  if (pool_ != nullptr) {
    slot.entry = pool_->share(response);
  } else {
    CachedResponse kept{response.tensors, response.extents};
    slot.entry = std::make_shared<const CachedResponse>(std::move(kept));
  }
  slot.changed_in = round;
  if (!own.empty() && own != slot.entry->tensors) {
    slot.own = std::make_unique<const std::vector<Request>>(std::move(own));
  }
  for (const Request& tensor : slot.entry->tensors) positions_.insert(tensor.name, position);
  link_newest(position);
}

std::uint32_t CacheStore::vacancy(std::uint64_t round) {
  if (free_.empty() && slots_.size() < capacity_) {
    // In small steps: tens of thousands of simulated members have one of these each.
    if (slots_.size() == slots_.capacity()) slots_.reserve(slots_.size() * 5 / 4 + 8);
    slots_.emplace_back();
    return positions() - 1;
  }
  if (free_.empty()) erase(oldest_, round);
  const std::uint32_t position = free_.back();
  free_.pop_back();
  return position;
}

void CacheStore::touch(std::uint32_t position) {
  if (position == newest_) return;
  unlink(position);
  link_newest(position);
}

void CacheStore::erase(std::uint32_t position, std::uint64_t round) {
  Slot& slot = slots_[position];
  if (!slot.entry) return;
  for (const Request& tensor : slot.entry->tensors) {
    positions_.erase(tensor.name, [&](std::uint32_t each) { return each == position; });
  }
  unlink(position);
  slot.entry.reset();
  slot.own.reset();
  slot.changed_in = round;
  free_.push_back(position);
  dropped_.push_back(position);
}

void CacheStore::clear(std::uint64_t round) {
  while (oldest_ != kNone) erase(oldest_, round);
}

void CacheStore::unlink(std::uint32_t position) {
  Slot& slot = slots_[position];
  (slot.newer == kNone ? newest_ : slots_[slot.newer].older) = slot.older;
  (slot.older == kNone ? oldest_ : slots_[slot.older].newer) = slot.newer;
  slot.newer = slot.older = kNone;
}

void CacheStore::link_newest(std::uint32_t position) {
  Slot& slot = slots_[position];
  slot.older = newest_;
  (newest_ == kNone ? oldest_ : slots_[newest_].newer) = position;
  newest_ = position;
}

}  // namespace unisono::order
