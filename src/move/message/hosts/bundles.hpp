// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The messages of a hierarchical alltoall: what all members of a host send to one member of another
// travels as one bundle, in rounds. The sender fills slots, one for each of the last few rounds; the
// receiver takes a bundle apart segment by segment as it arrives.
// Thread: the one that drives the engine.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "move/message/segment_stream.hpp"

namespace unisono::move {

class Bundles final : public Machine {
 public:
  // unpack(source, round, from, bytes): a part of the bundle that a source sent in a round.
  using Unpack =
      std::function<void(std::size_t, std::size_t, std::size_t, std::span<const std::byte>)>;
  Bundles(MoveContext context, Unpack unpack)
      : Machine("alltoall/bundles between hosts", context), unpack_(std::move(unpack)) {}

  // A bundle for a member, by round. Sources are numbered as they are added.
  void send(int member, const std::vector<std::span<const std::byte>>& rounds);
  void receive(int member, const std::vector<std::size_t>& round_bytes);
  // All bundles that are to be sent have been added.
  void end_of_list() { complete_ = true; }
  // So many rounds are in their slots.
  void note_filled(std::size_t rounds) { filled_ = rounds; }
  bool is_sent(std::size_t round) const;
  void abandon() override;

 private:
  struct Outgoing {
    Outgoing(const MoveContext& context, int member) : stream(context, member, Phase::scatter) {}
    std::vector<Segment> segments;
    std::vector<std::size_t> before;        // segments before each round; one more at the end
    SegmentStream stream;
  };
  struct Place {
    std::size_t round, from;                // in the bundle
  };
  struct Incoming {
    Incoming(const MoveContext& context, int member) : stream(context, member, Phase::scatter) {}
    std::vector<Segment> segments;          // each lands in one of kWindow slots
    std::vector<Place> places;              // of the segments
    std::unique_ptr<std::byte[]> slots;
    std::size_t unpacked = 0;
    SegmentStream stream;
  };

  bool advance() override;
  void add_pending(OpenTransfer& pending) const override;
  std::string phase() const override;

  const Unpack unpack_;
  std::deque<Outgoing> outgoing_;
  std::deque<Incoming> incoming_;
  bool complete_ = false;
  std::size_t filled_ = 0;
};

}  // namespace unisono::move
