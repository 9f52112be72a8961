// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Everything between this rank and one peer: the two lanes, the matching of data, how each side
// leaves, and what happens when the peer is lost.
//
// Leaving: a rank sends goodbye as the last frame of both lanes. When its peer has read both, and
// so everything before them, it answers goodbye_ack. Only then, or when the peer has said goodbye
// as well, may the leaving rank close, since closing a TCP socket early can discard bytes that the
// other side has not read. A peer that has said goodbye may disappear without being lost.
//
// Breaking: a lane that heals gets a new connection when one breaks, and goes on where it was; a
// peer that refuses one has ended, and one that cannot be reached is lost once it has been silent
// for too long. An invalid frame is never healed.
//
// An invalid frame ends the link: the rank that finds it tells the peer why before it closes, so
// that both ends report the same reason.
// Thread: the one that drives the engine.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "model/peer.hpp"
#include "transport/mesh/link.hpp"
#include "transport/mesh/mesh.hpp"
#include "transport/mesh/postbox.hpp"
#include "transport/transport.hpp"

namespace unisono::transport {

class PeerLink final : private FrameSink {
 public:
  PeerLink(PeerInfo peer, PeerLanes lanes, const MeshSettings& settings);

  // Returns false, and sends nothing, when the peer is gone or this rank has left.
  bool post(std::span<const std::byte> message);
  bool send(Label label, std::span<const std::byte> bytes, Transfer& done);
  void receive(Label label, std::span<std::byte> bytes, Transfer& done);
  void abandon(Transfer& transfer);

  bool progress(TransportListener& listener);
  bool ready() const { return fault_.has_value() || control_.ready() || data_.ready(); }
  // A connection has come about, by a call of either end.
  void attach(Connection connection);
  void unreachable(const Status& why);
  // Whether there is, or was, a connection on which the peer has spoken.
  bool known() const { return known_; }
  // Whether there is, or was, any: the peer says goodbye on it.
  bool met() const { return turns_[0].number != 0 || turns_[1].number != 0; }
  // Nothing is said to a peer that is not known; it has left.
  void give_up();
  // Nothing waits for a connection.
  bool settled() const;
  std::uint64_t connections() const;
  std::uint64_t reconnections() const { return reconnections_; }
  // `fresh`: this rank itself was stopped, so the peer's silence counts from now.
  void beat(Time now, bool fresh, TransportListener& listener);
  void leave();
  bool left() const;

 private:
  Result<std::byte*> place(const FrameHeader& header) override;
  void deliver(LaneKind lane, const FrameHeader& header) override;

  bool pump(Link& link, TransportListener& listener);
  void connect();
  void seek(LaneKind lane);
  void stop_seeking(LaneKind lane);
  bool seeks() const { return sought_[0] != 0 || sought_[1] != 0; }
  void broke(Link& link, const Status& why);
  void acknowledge();
  void say_alive();
  Link& lane(LaneKind kind) { return kind == LaneKind::data ? data_ : control_; }
  bool may_end(const Link& link) const;
  void say_goodbye();
  void finish_leaving();
  void blame(const Status& why);
  void lose(TransportListener& listener);
  void complain(const Status& why);
  void hear_complaint(std::span<const std::byte> words);

  const PeerInfo peer_, self_;
  const bool can_fall_silent_;
  const bool heals_, beats_;
  Connector* const connector_;
  bool known_ = false;
  Turn turns_[2];                          // of the connections in use, by lane
  std::uint32_t sought_[2] = {0, 0};       // the number of the connection this rank calls for, or 0
  std::string broken_by_;                  // why the last connection broke that did
  std::uint64_t reconnections_ = 0;
  int hang_ups_ = 0;                       // of connections on which the peer has not spoken, in turn
  const Nanos suspect_after_, dead_after_;
  Link control_, data_;
  Postbox box_;
  std::unique_ptr<std::byte[]> message_;
  std::size_t message_capacity_ = 0;
  TransportListener* listener_ = nullptr;  // during progress()
  std::optional<Status> fault_;            // found, and not yet reported to the listener

  bool lost_ = false;
  bool heard_complaint_ = false;           // the peer reported the fault
  bool leaving_ = false;                   // this rank has said goodbye
  bool unmet_ = false;                     // ... or would, if the peer came
  bool data_finished_ = false, control_finished_ = false;
  bool peer_left_ = false;                 // the peer's goodbye came on the control lane
  bool data_ended_ = false;                // and on the data lane
  bool goodbye_ack_sent_ = false, goodbye_acked_ = false;

  Time beaten_at_, heard_at_;
  std::uint64_t heard_ = 0, sent_ = 0;     // bytes received and sent up to the last beat
  bool suspected_ = false;
  bool watched_ = false;                   // there was a beat since the link is used
};

}  // namespace unisono::transport
