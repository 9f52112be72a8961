// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/plan.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <string>

#include "base/data/hash.hpp"

namespace unisono::order {
namespace {

constexpr std::size_t kRequestBytesMin = 8;

bool well_formed(const std::vector<Request>& bucket, SetId set) {
  if (bucket.empty()) return false;
  // Units lie one after the other, groups as a whole.
  for (std::size_t at = 0; at < bucket.size();) {
    const Request& head = bucket[at];
    const std::size_t size = head.group.empty() ? 1 : head.group_size;
    if (size == 0 || size > bucket.size() - at || head.set != set ||
        !plannable(std::span(bucket).subspan(at, size)) || !travel_together(head, bucket.front())) {
      return false;
    }
    at += size;
  }
  return true;
}

}  // namespace

bool travel_together(const Request& a, const Request& b) {
  return a.dtype == b.dtype && a.op == b.op && a.device == b.device && a.prescale == b.prescale &&
         a.postscale == b.postscale && a.codec == b.codec && a.team == b.team &&
         a.set == b.set;
}

bool plannable(std::span<const Request> tensors) {
  if (tensors.empty()) return false;
  const Request& head = tensors.front();
  if (tensors.size() != (head.group.empty() ? 1 : head.group_size)) return false;
  if (size_of(head.dtype) == 1) return false;
  return std::all_of(tensors.begin(), tensors.end(), [&](const Request& request) {
    return request.kind == Collective::allreduce && travel_together(request, head) &&
           request.group == head.group && request.group_size == head.group_size;
  });
}

std::uint64_t signature_of(const Request& request) {
  std::uint64_t hash = hash_text(request.codec, static_cast<std::uint64_t>(request.kind));
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 29;
  };
  mix(static_cast<std::uint64_t>(request.dtype) << 24 |
      static_cast<std::uint64_t>(request.op) << 16 | request.device);
  for (const std::int64_t extent : request.shape) mix(static_cast<std::uint64_t>(extent) + 1);
  mix(std::bit_cast<std::uint64_t>(request.prescale));
  mix(std::bit_cast<std::uint64_t>(request.postscale));
  mix(std::uint64_t{request.team} << 32 | request.group_size);
  if (!request.group.empty()) mix(hash_text(request.group));
  return hash;
}

bool same_operation(const Request& a, const Request& b) {
  return a.name == b.name && a.kind == b.kind && a.shape == b.shape && travel_together(a, b) &&
         a.group == b.group && a.group_size == b.group_size;
}

TopoPlan::TopoPlan(std::vector<std::vector<Request>> buckets, std::vector<BucketMethod> methods)
    : buckets_(std::move(buckets)), methods_(std::move(methods)) {
  methods_.resize(buckets_.size());
  std::uint32_t slot = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    first_slots_.push_back(slot);
    for (const Request& request : buckets_[b]) {
      places_.emplace(request.name, Place{static_cast<std::uint32_t>(b), slot++});
    }
  }
  ByteWriter bytes;
  encode(bytes);
  hash_ = hash_bytes(bytes.bytes());
}

const TopoPlan::Place* TopoPlan::find(std::string_view name) const {
  const auto it = places_.find(name);
  return it == places_.end() ? nullptr : &it->second;
}

void TopoPlan::encode(ByteWriter& out) const {
  out.put(static_cast<std::uint32_t>(buckets_.size()));
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    out.put(methods_[b].channel);
    out.put(static_cast<std::uint32_t>(buckets_[b].size()));
    for (const Request& request : buckets_[b]) encode_request(request, out);
  }
}

std::shared_ptr<const TopoPlan> TopoPlan::decode(ByteReader& in, SetId set,
                                                 std::uint32_t channels) {
  const auto count = in.get<std::uint32_t>();
  if (!in.can_hold(count, sizeof(std::uint32_t)) || count == 0) return nullptr;
  std::vector<std::vector<Request>> buckets(count);
  std::vector<BucketMethod> methods(count);
  std::set<std::string> names;
  for (std::size_t b = 0; b < count; ++b) {
    auto& bucket = buckets[b];
    methods[b].channel = in.get<std::uint32_t>();
    if (methods[b].channel >= channels) return nullptr;
    const auto size = in.get<std::uint32_t>();
    if (!in.can_hold(size, kRequestBytesMin)) return nullptr;
    for (std::uint32_t i = 0; i < size && in.ok(); ++i) {
      bucket.push_back(decode_request(in));
      if (!names.insert(bucket.back().name).second) return nullptr;
    }
    if (!in.ok() || !well_formed(bucket, set)) return nullptr;
  }
  if (!in.finished()) return nullptr;
  return std::make_shared<const TopoPlan>(std::move(buckets), std::move(methods));
}

std::shared_ptr<const TopoPlan> TopoPool::share(std::shared_ptr<const TopoPlan> plan) {
  const std::lock_guard lock(mutex_);
  auto& known = plans_[plan->hash()];
  if (auto shared = known.lock()) return shared;
  known = plan;
  return plan;
}

}  // namespace unisono::order
