// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The order fixed once: which tensors travel together, and which bucket comes after which.
//
// A value that never changes, equal on all members. A unit is one ungrouped tensor or one whole
// group, which lies in one bucket. All tensors of a bucket fit one collective: several allreduces,
// or one operation of another kind. Rows that differ between members are part of a plan.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/data/bytes.hpp"
#include "model/iteration/bucket_method.hpp"
#include "model/request.hpp"
#include "model/response.hpp"
#include "order/topo/learn/iteration_units.hpp"
#include "unisono/status.hpp"

namespace unisono::order {

using TopoUnit = std::vector<Request>;  // in order of name

// Whether a response to these requests could be planned: allreduces that one collective carries, or
// a broadcast, allgather or reducescatter by itself.
bool plannable(std::span<const Request> tensors);
// Whether two different tensors can travel in one collective.
bool travel_together(const Request& a, const Request& b);
// Priority does not count in these two: members may differ in it, and it orders a plan only once.
bool same_operation(const Request& a, const Request& b);
// By slot: the first dimension of each member, where it may differ between them; else none.
using PlanRows = std::vector<std::vector<std::int64_t>>;
// Those of tensor `index` of a response.
std::span<const std::int64_t> rows_of(const Response& response, std::size_t index);
// A hash of everything but the name.
std::uint64_t signature_of(const Request& request, std::span<const std::int64_t> rows);

class TopoPlan {
 public:
  // `buckets` are valid: see decode(). Methods are by bucket; none: all by the default one.
  explicit TopoPlan(std::vector<std::vector<Request>> buckets,
                    std::vector<BucketMethod> methods = {}, PlanRows rows = {});
  TopoPlan(const TopoPlan&) = delete;
  TopoPlan& operator=(const TopoPlan&) = delete;

  struct Place {
    std::uint32_t bucket, slot;         // slots count over all buckets
  };
  const Place* find(std::string_view name) const;
  const Request& at(Place place) const {
    return buckets_[place.bucket][place.slot - first_slots_[place.bucket]];
  }
  // Whether a request of the member with index `me` is the one planned at the place.
  bool holds(const Request& request, Place place, int me) const;
  // Whether tensor `index` of a response is the one planned at the place.
  bool answers(const Response& response, std::size_t index, Place place) const;
  // The request of that member which the plan holds there.
  Request own(Place place, int me) const;
  std::span<const std::int64_t> rows(Place place) const {
    return rows_.empty() ? std::span<const std::int64_t>() : rows_[place.slot];
  }
  // How many members its rows are of; 0 when it has none.
  std::size_t members() const;
  // The same plan with the rows that are known by name.
  std::shared_ptr<const TopoPlan> with_rows(
      const std::unordered_map<std::string, std::vector<std::int64_t>>& rows) const;
  std::size_t size() const { return buckets_.size(); }
  std::size_t slots() const { return places_.size(); }
  const std::vector<Request>& bucket(std::size_t index) const { return buckets_[index]; }
  const BucketMethod& method(std::size_t index) const { return methods_[index]; }
  std::uint32_t first_slot(std::size_t index) const { return first_slots_[index]; }
  std::uint64_t hash() const { return hash_; }
  void encode(ByteWriter& out) const;
  // Null when the bytes are not a whole, valid plan of the set, which has that many channels.
  static std::shared_ptr<const TopoPlan> decode(ByteReader& in, SetId set,
                                                std::uint32_t channels = 1);

 private:
  std::vector<std::vector<Request>> buckets_;
  std::vector<BucketMethod> methods_;
  PlanRows rows_;                       // empty when no operation has any
  std::vector<std::uint32_t> first_slots_;
  std::unordered_map<std::string_view, Place> places_;  // keys live in the buckets
  std::uint64_t hash_ = 0;
};

// Lets many members of one process share equal plans, and what they learn alike. Thread: any.
class TopoPool {
 public:
  std::shared_ptr<const TopoPlan> share(std::shared_ptr<const TopoPlan> plan);
  IterationUnitsPool& units() { return units_; }

 private:
  IterationUnitsPool units_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::weak_ptr<const TopoPlan>> plans_;
};

}  // namespace unisono::order
