// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mesh/data/data_lanes.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace unisono::transport {
namespace {
// How much more a tag's home must have to send than another stripe before data goes elsewhere.
constexpr std::size_t kLeadBytes = 512 << 10;
}  // namespace

bool DataLanes::OnTheWay::has(Tag tag) const {
  return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

DataLanes::DataLanes(std::size_t stripes, std::uint32_t epoch, bool heals, IoThreads* io,
                     std::vector<LaneStream> lanes)
    : heals_(heals),
      first_hurries_(io != nullptr && (lanes.empty() ? stripes : lanes.size()) > 1),
      box_(lanes.empty() ? stripes : lanes.size(), io != nullptr) {
  if (lanes.empty()) lanes.resize(stripes);
  UNISONO_CHECK(!lanes.empty() && lanes.size() <= kStripesMax);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const bool by_engine = io == nullptr || (first_hurries_ && i == 0);
    stripes_.push_back(std::make_unique<Stripe>(i, std::move(lanes[i]), epoch, heals, box_,
                                                by_engine ? nullptr : io->next()));
  }
  on_the_way_.resize(heals_ && size() > 1 ? size() : 0);
}

std::uint64_t DataLanes::sum(std::uint64_t (Stripe::*figure)() const) const {
  std::uint64_t all = 0;
  for (const auto& stripe : stripes_) all += ((*stripe).*figure)();
  return all;
}

// A step of one in any part of a tag leads to the next stripe.
std::size_t DataLanes::home_of(Tag tag) const {
  const std::size_t first = first_hurries_ ? 1 : 0;
  const Tag step = (tag & 0xFFFF) + (tag >> 12) + (tag >> 16) + (tag >> 48);
  return first + static_cast<std::size_t>(step) % (size() - first);
}

std::size_t DataLanes::choose(const Label& label) const {
  if (size() == 1 || (first_hurries_ && label.hurries)) return 0;
  const Tag tag = label.tag;
  const std::size_t home = home_of(tag), first = first_hurries_ ? 1 : 0;
  if (!heals_) return home;
  for (std::size_t i = first; away_ > 0 && i < size(); ++i) {
    if (i != home && on_the_way_[i].has(tag)) return i;
  }
  std::size_t shortest = home;
  for (std::size_t i = first; i < size(); ++i) {
    if (stripes_[i]->backlog() < stripes_[shortest]->backlog()) shortest = i;
  }
  const bool overtaken = stripes_[home]->backlog() > stripes_[shortest]->backlog() + kLeadBytes;
  return overtaken && !on_the_way_[home].has(tag) ? shortest : home;
}

void DataLanes::send(Label label, std::span<const std::byte> bytes, Transfer& done) {
  const std::size_t which = choose(label);
  if (!on_the_way_.empty()) on_the_way_[which].tags.push_back(label.tag);
  try {
    stripes_[which]->send(label, bytes, done);
  } catch (...) {
    if (!on_the_way_.empty()) on_the_way_[which].tags.pop_back();
    throw;
  }
  if (!on_the_way_.empty() && is_away(label.tag, which)) ++away_;
}

Status DataLanes::acknowledged(std::size_t stripe, std::uint64_t frames) {
  if (!on_the_way_.empty()) {
    OnTheWay& sent = on_the_way_[stripe];
    for (; sent.first < frames && !sent.tags.empty(); ++sent.first, sent.tags.pop_front()) {
      if (is_away(sent.tags.front(), stripe)) --away_;
    }
  }
  return stripes_[stripe]->open() ? stripes_[stripe]->acknowledged(frames) : Status();
}

Status DataLanes::receive(Label label, std::span<std::byte> bytes, Transfer& done) {
  Postbox::Match match = box_.receive(label, bytes, done);
  if (match == Postbox::Match::arriving) stripes_[match.stripe]->redirect(bytes.data());
  return std::move(match.disagreement);
}

bool DataLanes::abandon(Transfer& transfer) noexcept {
  if (box_.withdraw(transfer)) return true;
  for (auto& stripe : stripes_) {
    if (!stripe->abandon(transfer)) return false;
    if (transfer.state != Transfer::State::active) return true;
  }
  return true;
}

void DataLanes::confirm_all() {
  for (auto& stripe : stripes_) stripe->confirm_all();
}

void DataLanes::say_goodbye() {
  for (auto& stripe : stripes_) stripe->say_goodbye();
}

void DataLanes::finish_writing(bool all) {
  for (auto& stripe : stripes_) {
    const bool may = stripe->open() && stripe->has_stream() && stripe->idle();
    if (may && (all || stripe->ended()) && !stripe->finished()) stripe->finish_writing();
  }
}

void DataLanes::read_to_the_end() {
  for (auto& stripe : stripes_) {
    while (stripe->open() && !stripe->ended() && stripe->read_on()) {
    }
  }
}

void DataLanes::end_receives() {
  if (box_ended_ || !ended()) return;
  box_ended_ = true;
  box_.end();
}

void DataLanes::close() {
  for (auto& stripe : stripes_) stripe->close();
}

}  // namespace unisono::transport
