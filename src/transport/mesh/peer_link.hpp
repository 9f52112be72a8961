// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Everything between this rank and one peer: the lanes, how each side leaves, and what happens when
// the peer is lost.
//
// Leaving: a rank sends goodbye as the last frame of every lane. When its peer has read all, and so
// everything before them, it answers goodbye_ack. Only then, or when the peer has said goodbye
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
#include <vector>

#include "model/peer.hpp"
#include "transport/mesh/data/data_lanes.hpp"
#include "transport/mesh/link.hpp"
#include "transport/mesh/mesh.hpp"
#include "transport/transport.hpp"

namespace unisono::transport {

class PeerLink final : private FrameSink {
 public:
  // `io` has the threads that drive the data, if any; it outlives the link.
  PeerLink(PeerInfo peer, PeerLanes lanes, const MeshSettings& settings, IoThreads& io);

  // Returns false, and sends nothing, when the peer is gone or this rank has left.
  bool post(std::span<const std::byte> message);
  bool send(Label label, std::span<const std::byte> bytes, Transfer& done);
  void receive(Label label, std::span<std::byte> bytes, Transfer& done);
  void abandon(Transfer& transfer);

  bool progress(TransportListener& listener);
  // The poller has news of it.
  void has_news() { news_ = true; }
  // Whether progress() may find something to do, given that has_news() is called where the poller
  // has any. No poller watches rings.
  bool needs_pass() const {
    return !by_sockets_ || news_ || leaving_ || peer_left_ || ready() || control_.owes_much() || data_.owes_much();
  }
  bool ready() const { return fault_.has_value() || control_.ready() || data_.ready(); }
  // A connection has come about, by a call of either end.
  void attach(Connection connection);
  void unreachable(const Status& why);
  // Whether there is, or was, a connection on which the peer has spoken.
  bool known() const { return known_; }
  // Whether there is, or was, any: the peer says goodbye on it.
  bool met() const;
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

  // What a lane has moved, or why it cannot. Returns whether anything has happened.
  bool handle(LaneId lane, const Link::Pumped& pumped);
  void connect();
  void seek(LaneId lane);
  void stop_seeking(LaneId lane);
  void stop_seeking();
  bool seeks() const;
  void broke(LaneId lane, const Status& why);
  enum class Owing : std::uint8_t { any, much };
  void acknowledge(Owing which);
  void say_alive();
  bool is_open(LaneId lane) const;
  bool has_stream(LaneId lane) const;
  bool is_resumed(LaneId lane) const;
  void detach(LaneId lane);
  void close(LaneId lane);
  bool may_end(LaneId lane, bool closed) const;
  void say_goodbye();
  void finish_leaving();
  void blame(const Status& why);
  void lose(TransportListener& listener);
  void complain(const Status& why);
  Status hear_count(std::uint64_t lane, std::uint64_t frames);
  void hear_complaint(std::span<const std::byte> words);

  const PeerInfo peer_, self_;
  const bool can_fall_silent_, by_sockets_;
  const bool heals_, beats_;
  Connector* const connector_;
  bool known_ = false;
  struct Calls {
    Turn turn;                             // of the connection in use
    std::uint32_t sought = 0;              // the number of the one this rank calls for, or 0
    std::size_t hang_ups = 0;              // of connections on which the peer has not spoken, in turn
  };
  std::vector<Calls> calls_;               // by lane
  std::string broken_by_;                  // why the last connection broke that did
  std::uint64_t reconnections_ = 0;
  const Nanos suspect_after_, dead_after_;
  Link control_;
  DataLanes data_;
  std::unique_ptr<std::byte[]> message_;
  std::size_t message_capacity_ = 0;
  TransportListener* listener_ = nullptr;  // during progress()
  std::optional<Status> fault_;            // found, and not yet reported to the listener

  bool news_ = false;                      // since the last pass
  bool lost_ = false;
  bool heard_complaint_ = false;           // the peer reported the fault
  bool leaving_ = false;                   // this rank has said goodbye
  bool unmet_ = false;                     // ... or would, if the peer came
  bool control_finished_ = false;
  bool peer_left_ = false;                 // the peer's goodbye came on the control lane
  bool goodbye_ack_sent_ = false, goodbye_acked_ = false;

  Time beaten_at_, heard_at_;
  std::uint64_t heard_ = 0, sent_ = 0;     // bytes received and sent up to the last beat
  bool suspected_ = false;
  bool watched_ = false;                   // there was a beat since the link is used
};

}  // namespace unisono::transport
