// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/message/hosts/bundles.hpp"

#include <algorithm>

#include "base/data/text.hpp"

namespace unisono::move {

void Bundles::send(int member, const std::vector<std::span<const std::byte>>& rounds) {
  Outgoing& bundle = outgoing_.emplace_back(context_, member);
  bundle.before.push_back(0);
  for (const auto& bytes : rounds) {
    for (std::size_t at = 0; at < bytes.size(); at += kSegmentBytes) {
      const std::size_t length = std::min(kSegmentBytes, bytes.size() - at);
      bundle.segments.push_back({.in = bytes.subspan(at, length), .out = {}});
    }
    bundle.before.push_back(bundle.segments.size());
  }
  bundle.stream.send_inputs(bundle.segments);
}

void Bundles::receive(int member, const std::vector<std::size_t>& round_bytes) {
  Incoming& bundle = incoming_.emplace_back(context_, member);
  const std::size_t longest = round_bytes.empty() ? 0 : *std::ranges::max_element(round_bytes);
  const std::size_t slot = std::min(longest, kSegmentBytes);
  bundle.slots.reset(new std::byte[kWindow * slot]);
  for (std::size_t round = 0; round < round_bytes.size(); ++round) {
    for (std::size_t at = 0; at < round_bytes[round]; at += kSegmentBytes) {
      const std::size_t length = std::min(kSegmentBytes, round_bytes[round] - at);
      std::byte* to = bundle.slots.get() + bundle.segments.size() % kWindow * slot;
      bundle.segments.push_back({.in = {}, .out = {to, length}});
      bundle.places.push_back({round, at});
    }
  }
  bundle.stream.receive_outputs(bundle.segments);
}

bool Bundles::is_sent(std::size_t round) const {
  return std::ranges::all_of(outgoing_, [&](const Outgoing& bundle) {
    return bundle.stream.done() >= bundle.before[round + 1];
  });
}

void Bundles::abandon() {
  for (Outgoing& bundle : outgoing_) bundle.stream.abandon();
  for (Incoming& bundle : incoming_) bundle.stream.abandon();
}

bool Bundles::advance() {
  bool done = complete_;
  for (std::size_t source = 0; source < incoming_.size(); ++source) {
    Incoming& bundle = incoming_[source];
    bundle.stream.advance(bundle.unpacked + kWindow, pass_);
    for (; bundle.unpacked < bundle.stream.done(); ++bundle.unpacked) {
      const Place& place = bundle.places[bundle.unpacked];
      unpack_(source, place.round, place.from, bundle.segments[bundle.unpacked].out);
      pass_.moved = true;
    }
    done = done && bundle.unpacked == bundle.segments.size();
  }
  for (Outgoing& bundle : outgoing_) {
    bundle.stream.advance(bundle.before[filled_], pass_);
    done = done && bundle.stream.finished();
  }
  return done;
}

void Bundles::add_pending(OpenTransfer& pending) const {
  for (const Incoming& bundle : incoming_) bundle.stream.add_pending(pending);
  for (const Outgoing& bundle : outgoing_) bundle.stream.add_pending(pending);
}

std::string Bundles::phase() const {
  std::size_t received = 0;
  for (const Incoming& bundle : incoming_) {
    received += bundle.unpacked == bundle.segments.size() ? 1 : 0;
  }
  return cat(received, " of ", incoming_.size(), " bundles received");
}

}  // namespace unisono::move
