// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One sparse stream to or from one member: a header of known length, then as many bytes as it says.
// Both leave at once, so that the header costs a message but no round trip.
// Two packets that may be on their way together between the same members, in the same direction,
// use different channels; a channel takes two phases of the tags.
// Thread: the one that drives the engine. Stay at their addresses while transfers are open.
#pragma once

#include <memory>
#include <optional>

#include "move/message/segment_stream.hpp"
#include "stream/packet.hpp"

namespace unisono::move {

inline constexpr unsigned kPacketChannels = 7;  // the last two phases are for votes and the like

inline Phase channel_phase(unsigned channel, bool payload = false) {
  return static_cast<Phase>(2 * channel + (payload ? 1 : 0));
}

using SharedPacket = std::shared_ptr<const stream::Packet>;

class PacketSender {
 public:
  PacketSender(const MoveContext& context, int member, unsigned channel, SharedPacket packet);

  void advance(Pass& pass);
  bool finished() const { return header_.finished() && payload_.finished(); }
  void add_pending(OpenTransfer& pending) const;

 private:
  const SharedPacket packet_;
  SegmentStream header_, payload_;
};

class PacketReceiver {
 public:
  PacketReceiver(const MoveContext& context, int member, unsigned channel,
                 const stream::Expected& expected);

  // trouble: why what came cannot be used, and who sent it.
  void advance(Pass& pass, Status& trouble);
  bool finished() const { return view_.has_value(); }
  // Once finished.
  const stream::View& view() const { return *view_; }
  SharedPacket packet() const { return packet_; }
  void add_pending(OpenTransfer& pending) const;

 private:
  const MoveContext* context_;
  const int member_;
  const unsigned channel_;
  const stream::Expected expected_;
  std::shared_ptr<stream::Packet> packet_;
  SegmentStream header_;
  std::optional<stream::Header> read_;
  std::optional<SegmentStream> payload_;
  stream::Scratch scratch_;
  std::optional<stream::View> view_;
};

}  // namespace unisono::move
