// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Moves bytes between the ranks of a job, point to point. One interface, one contract suite
// (transport_contract_test.cpp); a new way to move bytes joins it with one line.
//
// Thread: the one that drives the engine calls everything. Nothing blocks.
// Per peer there is a lane of short control messages and there are lanes of data, matched by (peer,
// tag). Neither waits for the other. Control messages keep their order, and so does data of one tag.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/clock.hpp"
#include "unisono/status.hpp"
#include "unisono/types.hpp"

namespace unisono::transport {

using Tag = std::uint64_t;

// Names data: the tag matches a send with its receive; the identity says what the data is. It is
// sent with the data and must be the same at both ends; 0 where it does not matter.
struct Label {
  Label(Tag which, std::uint64_t what = 0, bool in_a_hurry = false)
      : tag(which), identity(what), hurries(in_a_hurry) {}
  Tag tag;
  std::uint64_t identity;
  // For the sending end alone: it would be over before another thread has woken up for it.
  bool hurries;
};

// One send or receive, owned by the caller; its address and its bytes must stay valid until it is
// done, failed or abandoned, or the transport is destroyed.
struct Transfer {
  enum class State : std::uint8_t { idle, active, done, failed };
  // Another thread may move the bytes: whoever sees that it has ended also sees, and may change,
  // what it moved.
  class Shown {
   public:
    Shown() = default;
    Shown(const Shown& other) : state_(State(other)) {}
    Shown& operator=(const Shown& other) { return *this = State(other); }
    Shown& operator=(State next) {
      state_.store(next, std::memory_order_release);
      return *this;
    }
    operator State() const { return state_.load(std::memory_order_acquire); }

   private:
    std::atomic<State> state_{State::idle};
  };
  Shown state;
  bool done() const { return state == State::done; }
};

// Called from inside progress() with what arrives.
class TransportListener {
 public:
  virtual ~TransportListener() = default;
  virtual void on_message(Rank from, std::span<const std::byte> message) = 0;
  // The peer died, fell silent or sent bad data; its transfers have failed. At most once per peer.
  virtual void on_lost(Rank peer, const Status& why) = 0;
  // The peer closed in good order; it sends nothing more, what it sent before still arrives.
  virtual void on_left(Rank peer) = 0;
};

struct TransportStats {
  std::uint64_t control_messages = 0, control_bytes = 0, data_bytes = 0;  // sent by this rank
  std::uint64_t connections = 0;            // that are open now
  std::uint64_t reconnections = 0;          // that were made again after they broke
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;
  virtual Rank rank() const = 0;
  virtual int size() const = 0;
  // How many connections share the data of a pair; equal on all ranks.
  virtual std::size_t stripes() const { return 1; }

  // A control message of at most 16 MiB, copied before return, delivered whole.
  virtual void post(Rank peer, std::span<const std::byte> message) = 0;
  // Data. A receive must have the length and the identity of the matching send. Otherwise both ends
  // lose each other with the same error (corrupted for the length, mismatch for the identity), and
  // nothing is delivered.
  // Two transfers with the same peer, direction and tag must not be active together.
  virtual void send(Rank peer, Label label, std::span<const std::byte> bytes, Transfer& done) = 0;
  virtual void receive(Rank peer, Label label, std::span<std::byte> bytes, Transfer& done) = 0;
  // Takes an active transfer with the peer back: its bytes and the Transfer itself are the caller's
  // again, and it has failed unless it was done. The peer does not notice: what is queued goes out
  // from a copy, and what would have been received is received and dropped.
  virtual void abandon(Rank peer, Transfer& transfer) = 0;

  // Sends and receives what it can without waiting; returns true when anything moved.
  virtual bool progress(TransportListener& listener) = 0;
  // Whether progress() would find something to do: the last check before sleeping.
  virtual bool ready() const = 0;
  // Called once per heartbeat: shows that this rank is alive, and declares peers lost that were
  // silent for too long.
  virtual void beat(Time now, TransportListener& listener) = 0;
  // Says goodbye to every peer and keeps sending what is queued as long as progress() is called.
  virtual void leave() = 0;
  // Whether this rank and the peer are connected, or were.
  virtual bool knows(Rank) const { return true; }
  // The peer, which this rank does not know, has left: what was to be said to it is not.
  virtual void give_up(Rank) {}
  // Nothing waits for a connection to be made.
  virtual bool settled() const { return true; }
  // After leave(): nothing is queued any more and every peer has answered or is gone.
  virtual bool left() const = 0;
  virtual TransportStats stats() const = 0;
  // Binds the threads that it has, if any, to these CPUs; returns false when the kernel refuses.
  virtual bool bind_threads(std::span<const int>) { return true; }
};

}  // namespace unisono::transport
