// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/plans/plan_slots.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace unisono::order {

PlanSlots::PlanSlots(const Plans& plans, int me) : me_(me) {
  UNISONO_CHECK(!plans.empty());
  for (const auto& plan : plans) {
    Shelf& shelf = shelves_.emplace_back();
    shelf.plan = plan;
    shelf.turns.resize(plan->slots(), 0);
    for (std::size_t b = 0; b < plan->size(); ++b) {
      shelf.missing.push_back(static_cast<std::uint32_t>(plan->bucket(b).size()));
    }
  }
}

void PlanSlots::keep_times() {
  for (Shelf& shelf : shelves_) {
    shelf.filled_at.resize(shelf.plan->slots());
    shelf.given_at.resize(shelf.plan->slots());
  }
}

bool PlanSlots::fill(const Request& request, std::uint64_t turn, Time now) {
  // Most tensors belong to the iteration under way.
  for (std::size_t i = 0; i < shelves_.size(); ++i) {
    Shelf& shelf = shelves_[(current_ + i) % shelves_.size()];
    const TopoPlan::Place* place = shelf.plan->find(request.name);
    if (place == nullptr) continue;
    if (shelf.turns[place->slot] != 0 || !shelf.plan->holds(request, *place, me_)) return false;
    shelf.turns[place->slot] = turn;
    if (!shelf.filled_at.empty()) shelf.filled_at[place->slot] = now;
    --shelf.missing[place->bucket];
    ++filled_;
    if (shelf.first_turn == 0) shelf.first_turn = turn;
    return true;
  }
  return false;
}

std::optional<PlanSlots::Place> PlanSlots::next_place() const {
  if (bucket_ != 0 || shelves_.size() == 1) return Place{current_, bucket_};
  std::optional<Place> first;
  for (std::size_t i = 0; i < shelves_.size(); ++i) {
    const std::uint64_t turn = shelves_[i].first_turn;
    if (turn == 0 || (first && shelves_[first->plan].first_turn < turn)) continue;
    first = Place{i, 0};
  }
  return first;
}

bool PlanSlots::next_full() const {
  const auto place = next_place();
  return place && shelves_[place->plan].missing[place->bucket] == 0;
}

bool PlanSlots::next_is_last() const {
  const auto place = next_place();
  return place && place->bucket + 1 == shelves_[place->plan].plan->size();
}

const Request* PlanSlots::first_missing() const {
  const auto place = next_place();
  if (!place) return nullptr;
  const Shelf& shelf = shelves_[place->plan];
  const std::vector<Request>& bucket = shelf.plan->bucket(place->bucket);
  const auto first = shelf.turns.begin() + shelf.plan->first_slot(place->bucket);
  const auto last = first + static_cast<std::ptrdiff_t>(bucket.size());
  const auto empty = std::find(first, last, std::uint64_t{0});
  return empty == last ? nullptr : &bucket[static_cast<std::size_t>(empty - first)];
}

PlanSlots::Place PlanSlots::give_out() {
  const Place place = next_place().value_or(Place{0, 0});
  Shelf& shelf = shelves_[place.plan];
  const std::uint32_t first_slot = shelf.plan->first_slot(place.bucket);
  const auto size = static_cast<std::uint32_t>(shelf.plan->bucket(place.bucket).size());
  const auto first = shelf.turns.begin() + first_slot;
  const auto last = first + static_cast<std::ptrdiff_t>(size);
  given_.push_back({place, Turns(first, last)});
  if (!shelf.filled_at.empty()) {
    const auto filled = shelf.filled_at.begin() + first_slot;
    std::copy(filled, filled + (last - first), shelf.given_at.begin() + first_slot);
  }
  std::fill(first, last, 0);
  filled_ -= size - shelf.missing[place.bucket];
  shelf.missing[place.bucket] = size;
  ++next_;
  current_ = place.plan;
  bucket_ = (place.bucket + 1) % shelf.plan->size();
  if (bucket_ == 0 && shelves_.size() > 1) {
    shelf.first_turn = 0;
    for (const std::uint64_t turn : shelf.turns) {
      if (turn != 0 && (shelf.first_turn == 0 || turn < shelf.first_turn)) shelf.first_turn = turn;
    }
  }
  return place;
}

std::vector<PlanSlots::Place> PlanSlots::reach(std::uint64_t position) const {
  std::vector<Place> places;
  const std::size_t size = shelves_[current_].plan->size();
  if (shelves_.size() == 1) {
    for (std::size_t i = 0; i < size; ++i) places.push_back({0, (position + i) % size});
    return places;
  }
  const std::uint64_t begin = next_ - bucket_;  // of the iteration under way
  if (position <= begin) return places;
  for (std::size_t b = position - begin; b < size; ++b) places.push_back({current_, b});
  return places;
}

void PlanSlots::oldest_ended() {
  last_ended_ = given_.front().place;
  given_.pop_front();
  Shelf& shelf = shelves_[last_ended_->plan];
  if (last_ended_->bucket + 1 != shelf.plan->size()) return;
  ++shelf.iterations;
  shelf.last_iteration = ++iterations_;
}

void PlanSlots::collect(Place place, const std::uint64_t* turns,
                        std::vector<std::pair<std::uint64_t, Request>>& out) const {
  const TopoPlan& plan = *shelves_[place.plan].plan;
  const auto bucket = static_cast<std::uint32_t>(place.bucket);
  std::uint32_t slot = plan.first_slot(bucket);
  for (const std::uint64_t* end = turns + plan.bucket(bucket).size(); turns != end; ++turns) {
    if (*turns != 0) out.emplace_back(*turns, plan.own({bucket, slot}, me_));
    ++slot;
  }
}

std::vector<std::pair<std::uint64_t, Request>> PlanSlots::drain_unanswered() {
  std::vector<std::pair<std::uint64_t, Request>> out;
  for (std::size_t i = 0; i < shelves_.size(); ++i) {
    const Shelf& shelf = shelves_[i];
    for (std::size_t b = 0; b < shelf.plan->size(); ++b) {
      collect({i, b}, shelf.turns.data() + shelf.plan->first_slot(b), out);
    }
  }
  return out;
}

std::vector<std::pair<std::uint64_t, Request>> PlanSlots::drain() {
  auto out = drain_unanswered();
  for (const Given& given : given_) collect(given.place, given.turns.data(), out);
  return out;
}

}  // namespace unisono::order
