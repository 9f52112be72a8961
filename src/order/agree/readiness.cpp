// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/agree/readiness.hpp"

#include <algorithm>
#include <iterator>

#include "base/check.hpp"

namespace unisono::order {

const Request& Tensor::of(int member) const {
  for (const auto& [index, request] : variants) {
    if (index == member) return *request;
  }
  return canonical;
}

std::int32_t Unit::priority() const {
  std::int32_t highest = tensors.front()->canonical.priority;
  for (const auto& tensor : tensors) highest = std::max(highest, tensor->canonical.priority);
  return highest;
}

Tensor* Readiness::find(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? nullptr : it->second;
}

bool Readiness::has_submitted(Senders who, std::string_view name) const {
  const Tensor* tensor = find(name);
  return tensor != nullptr && who.meet(tensor->submitted);
}

Unit& Readiness::add(Senders who, std::span<Request> parcel, Time at) {
  UNISONO_CHECK(!parcel.empty());
  Unit& unit = home_of(who, parcel);
  const bool fresh = unit.tensors.empty();
  if (!fresh) {
    const std::string& group = parcel.front().group;
    const bool same_group = unit.is_group() ? unit.groups.front() == group : group.empty();
    if (!same_group || who.meet(unit.arrived)) unit.same_contents = false;
    if (parcel.size() != unit.tensors.size()) unit.same_contents = false;
  }
  const std::size_t known = unit.tensors.size();
  for (Request& request : parcel) record(who, request, unit);
  if (!fresh && unit.tensors.size() != known) unit.same_contents = false;
  arrive(who, unit, at);
  return unit;
}

Unit* Readiness::add_repeated(Senders who, std::string_view name,
                              std::span<const std::byte> encoded, Time at) {
  Tensor* tensor = find(name);
  if (tensor == nullptr || who.meet(tensor->submitted)) return nullptr;
  Unit& unit = *tensor->unit;
  if (unit.is_group() || unit.tensors.size() != 1) return nullptr;
  if (!std::equal(encoded.begin(), encoded.end(), tensor->encoded.begin(),
                  tensor->encoded.end())) {
    return nullptr;
  }
  who.add_to(tensor->submitted);
  arrive(who, unit, at);
  return &unit;
}

void Readiness::remember(Senders who, std::string_view name, std::span<const std::byte> encoded) {
  Tensor* tensor = find(name);
  if (tensor == nullptr || !tensor->encoded.empty() || tensor->unit->is_group()) return;
  // Each of those that repeat it adds to its counts.
  if (traits_of(tensor->canonical.kind).sparse) return;
  if (&tensor->of(who.first()) == &tensor->canonical) {
    tensor->encoded.assign(encoded.begin(), encoded.end());
  }
}

void Readiness::arrive(Senders who, Unit& unit, Time at) {
  who.add_to(unit.arrived);
  if (at < unit.first) {
    unit.first = at;
    unit.earlier = true;
  }
  if (complete(unit)) force_ready(unit);
}

Unit& Readiness::home_of(Senders who, std::span<const Request> parcel) {
  Unit* home = nullptr;
  const auto belongs_to = [&](Unit& unit) {
    if (home != &unit) home = home == nullptr ? &unit : &merge(*home, unit);
  };
  for (const Request& request : parcel) {
    if (const Tensor* tensor = find(request.name)) belongs_to(*tensor->unit);
  }
  const std::string& group = parcel.front().group;
  if (!group.empty()) {
    // A member that is already in the group's unit uses the name a second time, for other tensors.
    const auto it = groups_.find(group);
    if (it != groups_.end() && !who.meet(it->second->arrived)) belongs_to(*it->second);
  }
  if (home == nullptr) return create(parcel.front());
  if (!group.empty() && groups_.emplace(group, home).second) home->groups.push_back(group);
  return *home;
}

Unit& Readiness::create(const Request& request) {
  units_.push_back(Unit{.groups = {}, .tensors = {}, .arrived = MemberBits(members_),
                        .self = {}});
  Unit& unit = units_.back();
  unit.self = std::prev(units_.end());
  if (!request.group.empty()) {
    unit.groups.push_back(request.group);
    groups_.emplace(request.group, &unit);
  }
  return unit;
}

Unit& Readiness::merge(Unit& into, Unit& from) {
  into.same_contents = false;
  into.arrived.add(from.arrived);
  into.first = std::min(into.first, from.first);
  for (auto& tensor : from.tensors) {
    tensor->unit = &into;
    into.tensors.push_back(std::move(tensor));
  }
  for (std::string& group : from.groups) {
    if (const auto it = groups_.find(group); it != groups_.end() && it->second == &from) {
      it->second = &into;
    }
    into.groups.push_back(std::move(group));
  }
  into.next_report = std::min(into.next_report, from.next_report);
  into.next_inquiry = std::min(into.next_inquiry, from.next_inquiry);
  into.report_gap = std::max(into.report_gap, from.report_gap);
  std::erase(ready_, &from);
  units_.erase(from.self);
  if (complete(into)) force_ready(into);
  return into;
}

namespace {

// The counts of a sparse collective: the request says what all so far have, at most and together,
// and so does the canonical one; then only what members must agree on tells the two apart.
void join_counts(Senders who, Request& request, Tensor* tensor) {
  std::uint64_t senders = 0;
  who.each([&](int) { ++senders; });
  SparseAsk& ask = request.sparse;
  ask.nnz_sum = senders * ask.nnz;
  if (tensor == nullptr || who.meet(tensor->submitted) ||
      !traits_of(tensor->canonical.kind).sparse) {
    return;
  }
  SparseAsk& all = tensor->canonical.sparse;
  ask.nnz = all.nnz = std::max(all.nnz, ask.nnz);
  ask.nnz_sum = all.nnz_sum += ask.nnz_sum;
}

}  // namespace

void Readiness::record(Senders who, Request& request, Unit& unit) {
  Tensor* tensor = find(request.name);
  if (traits_of(request.kind).sparse) join_counts(who, request, tensor);
  if (tensor == nullptr) {
    unit.tensors.push_back(std::make_unique<Tensor>(
        Tensor{std::move(request), MemberBits(members_), {}, {}, &unit}));
    tensor = unit.tensors.back().get();
    tensors_.emplace(tensor->canonical.name, tensor);
  } else if (!who.meet(tensor->submitted) && request != tensor->canonical) {
    const auto variant = std::make_shared<const Request>(std::move(request));
    who.each([&](int member) { tensor->variants.emplace_back(member, variant); });
  }
  who.add_to(tensor->submitted);
}

bool Readiness::complete(const Unit& unit) const {
  if (!joins_.any()) return unit.arrived.count() == members_;
  return MemberBits::union_count(unit.arrived, joins_.joined()) == members_;
}

void Readiness::recheck() {
  for (Unit& unit : units_) {
    if (complete(unit)) force_ready(unit);
  }
}

void Readiness::force_ready(Unit& unit) {
  if (std::exchange(unit.ready, true)) return;
  ready_.push_back(&unit);
}

Unit Readiness::take(Unit& unit) {
  for (const auto& tensor : unit.tensors) tensors_.erase(tensor->canonical.name);
  for (const std::string& group : unit.groups) {
    if (const auto it = groups_.find(group); it != groups_.end() && it->second == &unit) {
      groups_.erase(it);
    }
  }
  if (unit.ready) std::erase(ready_, &unit);
  Unit taken = std::move(unit);
  units_.erase(taken.self);
  return taken;
}

}  // namespace unisono::order
