// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/plan.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <string>

#include "base/data/hash.hpp"
#include "model/options/choices.hpp"
#include "model/options/option_values.hpp"
#include "model/options/registry.hpp"

namespace unisono::order {
namespace {

constexpr std::size_t kRequestBytesMin = 8;
// A bucket's channel, algorithm, codec and count, and a tensor with its rows.
constexpr std::size_t kBucketBytesMin = 5 * sizeof(std::uint32_t) + kRequestBytesMin;

bool well_formed(const std::vector<Request>& bucket, SetId set) {
  if (bucket.empty()) return false;
  // Units lie one after the other, groups as a whole.
  for (std::size_t at = 0; at < bucket.size();) {
    const Request& head = bucket[at];
    const std::size_t size = head.group.empty() ? 1 : head.group_size;
    if (size == 0 || size > bucket.size() - at || head.set != set ||
        !plannable(std::span(bucket).subspan(at, size)) ||
        (size < bucket.size() && !travel_together(head, bucket.front()))) {
      return false;
    }
    at += size;
  }
  return true;
}

// Only what its tensors allow may be chosen for a bucket.
bool well_formed(const BucketMethod& method, const Request& first) {
  if (method.algorithm.empty() && method.codec.empty()) return true;
  if (first.kind != Collective::allreduce || first.op == ReduceOp::adasum) return false;
  const auto allowed = split_list(first.plan_codecs);
  return (method.algorithm.empty() || find_row(kAllreduceChoices, method.algorithm) != nullptr) &&
         (method.codec.empty() ||
          std::find(allowed.begin(), allowed.end(), method.codec) != allowed.end());
}

// Each operation has rows of as many members as any, or none, as its kind says.
bool well_formed(const std::vector<std::vector<Request>>& buckets, const PlanRows& rows) {
  std::size_t slot = 0, members = 0;
  for (const auto& bucket : buckets) {
    for (const Request& request : bucket) {
      const std::vector<std::int64_t>& own = rows[slot++];
      if (own.empty() == traits_of(request.kind).free_rows) return false;
      if (own.empty()) continue;
      if (members == 0) members = own.size();
      if (own.size() != members || request.shape.empty()) return false;
      if (std::any_of(own.begin(), own.end(), [](std::int64_t n) { return n < 0; })) return false;
    }
  }
  return true;
}

bool same_settings(const Request& a, const Request& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.op == b.op && a.device == b.device &&
         a.prescale == b.prescale && a.postscale == b.postscale && a.codec == b.codec &&
         a.plan_codecs == b.plan_codecs &&
         a.team == b.team && a.set == b.set && a.sparse.agrees_with(b.sparse) &&
         (!traits_of(a.kind).has_root || a.root == b.root);
}

bool same_but_shape(const Request& a, const Request& b) {
  return a.name == b.name && same_settings(a, b) && a.group == b.group &&
         a.group_size == b.group_size;
}

bool same_row_shape(const Shape& a, const Shape& b) {
  return a.size() == b.size() && !a.empty() && std::equal(a.begin() + 1, a.end(), b.begin() + 1);
}

}  // namespace

bool travel_together(const Request& a, const Request& b) {
  return a.kind == Collective::allreduce && same_settings(a, b);
}

bool plannable(std::span<const Request> tensors) {
  if (tensors.empty()) return false;
  const Request& head = tensors.front();
  if (head.kind != Collective::allreduce) {
    return tensors.size() == 1 && head.group.empty() &&
           (head.kind == Collective::broadcast || head.kind == Collective::allgather ||
            head.kind == Collective::reducescatter || traits_of(head.kind).sparse);
  }
  if (tensors.size() != (head.group.empty() ? 1 : head.group_size)) return false;
  return std::all_of(tensors.begin(), tensors.end(), [&](const Request& request) {
    return travel_together(request, head) && request.group == head.group &&
           request.group_size == head.group_size;
  });
}

std::span<const std::int64_t> rows_of(const Response& response, std::size_t index) {
  if (!traits_of(response.tensors[index].kind).free_rows) return {};
  return index < response.extents.size() ? std::span(response.extents[index])
                                         : std::span<const std::int64_t>();
}

std::uint64_t signature_of(const Request& request, std::span<const std::int64_t> rows) {
  std::uint64_t hash = hash_text(request.codec, static_cast<std::uint64_t>(request.kind));
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 29;
  };
  mix(static_cast<std::uint64_t>(request.dtype) << 24 |
      static_cast<std::uint64_t>(request.op) << 16 | request.device);
  const CollectiveTraits& traits = traits_of(request.kind);
  // Whose request stands for all has changed nothing when rows differ.
  for (std::size_t i = traits.free_rows ? 1 : 0; i < request.shape.size(); ++i) {
    mix(static_cast<std::uint64_t>(request.shape[i]) + 1);
  }
  for (const std::int64_t n : rows) mix(static_cast<std::uint64_t>(n) + 1);
  if (traits.has_root) mix(static_cast<std::uint64_t>(request.root) + 1);
  mix(std::bit_cast<std::uint64_t>(request.prescale));
  mix(std::bit_cast<std::uint64_t>(request.postscale));
  mix(std::uint64_t{request.team} << 32 | request.group_size);
  if (!request.plan_codecs.empty()) mix(hash_text(request.plan_codecs));
  // Without the counts, which differ from step to step: planned ones go by those of the plan.
  if (traits.sparse) {
    const SparseAsk& ask = request.sparse;
    mix(ask.expected);
    mix(ask.top_k);
    mix(ask.gather_bits);
    mix((ask.allow_loss ? 4u : 0u) | (ask.same_indices ? 2u : 0u) | (ask.refuse_overlap ? 1u : 0u));
    mix(hash_text(ask.algorithm));
    mix(hash_text(ask.user_operator));
  }
  if (!request.group.empty()) mix(hash_text(request.group));
  return hash;
}

bool same_operation(const Request& a, const Request& b) {
  return same_but_shape(a, b) && a.shape == b.shape;
}

TopoPlan::TopoPlan(std::vector<std::vector<Request>> buckets, std::vector<BucketMethod> methods,
                   PlanRows rows)
    : buckets_(std::move(buckets)), methods_(std::move(methods)), rows_(std::move(rows)) {
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

std::size_t TopoPlan::members() const {
  for (const auto& rows : rows_) {
    if (!rows.empty()) return rows.size();
  }
  return 0;
}

bool TopoPlan::holds(const Request& request, Place place, int me) const {
  const Request& planned = at(place);
  const auto all = rows(place);
  if (all.empty()) return same_operation(request, planned);
  return same_but_shape(request, planned) && same_row_shape(request.shape, planned.shape) &&
         request.shape.front() == all[static_cast<std::size_t>(me)];
}

bool TopoPlan::answers(const Response& response, std::size_t index, Place place) const {
  const Request &answered = response.tensors[index], &planned = at(place);
  const auto all = rows(place), said = rows_of(response, index);
  if (all.empty()) return same_operation(answered, planned);
  return same_but_shape(answered, planned) && same_row_shape(answered.shape, planned.shape) &&
         std::equal(all.begin(), all.end(), said.begin(), said.end());
}

Request TopoPlan::own(Place place, int me) const {
  Request request = at(place);
  const auto all = rows(place);
  if (!all.empty()) request.shape.front() = all[static_cast<std::size_t>(me)];
  return request;
}

std::shared_ptr<const TopoPlan> TopoPlan::with_rows(
    const std::unordered_map<std::string, std::vector<std::int64_t>>& rows) const {
  PlanRows all(slots());
  for (const auto& [name, place] : places_) {
    const auto it = rows.find(std::string(name));
    if (it != rows.end()) all[place.slot] = it->second;
  }
  return std::make_shared<const TopoPlan>(buckets_, methods_, std::move(all));
}

void TopoPlan::encode(ByteWriter& out) const {
  out.put(static_cast<std::uint32_t>(buckets_.size()));
  std::size_t slot = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    out.put(methods_[b].channel);
    out.put_text(methods_[b].algorithm);
    out.put_text(methods_[b].codec);
    out.put(static_cast<std::uint32_t>(buckets_[b].size()));
    for (const Request& request : buckets_[b]) {
      encode_request(request, out);
      out.put_list(rows_.empty() ? std::vector<std::int64_t>() : rows_[slot]);
      ++slot;
    }
  }
}

std::shared_ptr<const TopoPlan> TopoPlan::decode(ByteReader& in, SetId set,
                                                 std::uint32_t channels) {
  const auto count = in.get<std::uint32_t>();
  if (!in.can_hold(count, kBucketBytesMin) || count == 0) return nullptr;
  std::vector<std::vector<Request>> buckets(count);
  std::vector<BucketMethod> methods(count);
  PlanRows rows;
  std::set<std::string> names;
  bool some = false;
  for (std::size_t b = 0; b < count; ++b) {
    auto& bucket = buckets[b];
    methods[b].channel = in.get<std::uint32_t>();
    methods[b].algorithm = in.get_text();
    methods[b].codec = in.get_text();
    if (methods[b].channel >= channels) return nullptr;
    const auto size = in.get<std::uint32_t>();
    if (!in.can_hold(size, kRequestBytesMin)) return nullptr;
    for (std::uint32_t i = 0; i < size && in.ok(); ++i) {
      bucket.push_back(decode_request(in));
      rows.push_back(in.get_list<std::int64_t>());
      some |= !rows.back().empty();
      if (!names.insert(bucket.back().name).second) return nullptr;
    }
    if (!in.ok() || !well_formed(bucket, set) ||
        !well_formed(methods[b], bucket.front())) {
      return nullptr;
    }
  }
  if (!in.finished() || !well_formed(buckets, rows)) return nullptr;
  if (!some) rows.clear();
  return std::make_shared<const TopoPlan>(std::move(buckets), std::move(methods), std::move(rows));
}

std::shared_ptr<const TopoPlan> TopoPool::share(std::shared_ptr<const TopoPlan> plan) {
  const std::lock_guard lock(mutex_);
  auto& known = plans_[plan->hash()];
  if (auto shared = known.lock()) return shared;
  known = plan;
  return plan;
}

}  // namespace unisono::order
