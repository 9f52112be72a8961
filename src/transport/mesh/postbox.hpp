// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Matches the data that one peer sends with the receives posted for it, by tag. Whichever comes
// first waits for the other; data whose receive is not posted yet is kept in a buffer of its own.
// On each stripe one piece of data arrives at a time.
//
// Thread: the one that drives the engine. Where other threads drive the stripes (`shared`), they call
// begin() and finish() for theirs, with the stripe's lock held; the box has a lock of its own, which
// is taken after a stripe's and never held while bytes are copied. There what has begun to arrive
// into a buffer is copied when it is whole.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "transport/transport.hpp"

namespace unisono::transport {

class Postbox {
 public:
  explicit Postbox(std::size_t stripes = 1, bool shared = false)
      : shared_(shared), arriving_(stripes) {}

  struct Match {
    enum Kind : std::uint8_t {
      waiting,   // nothing with this tag has begun to arrive, or it is copied when it is whole
      arriving,  // it is arriving into a buffer: the rest can go straight to the receive
      done,      // it was here and has been copied
      mismatch,  // it has another length or identity: the transfer has failed
    } kind = waiting;
    std::size_t stripe = 0;             // arriving: where
    Status disagreement;                // mismatch: what came and what was expected
    friend bool operator==(const Match& match, Kind wanted) { return match.kind == wanted; }
  };

  Match receive(Label label, std::span<std::byte> bytes, Transfer& done);
  // Takes back a receive for which nothing has begun to arrive; what comes for it is dropped.
  // Returns false when it is none of these.
  bool withdraw(Transfer& transfer);
  // The same of one that is arriving on this stripe, if it is: its memory is the caller's again.
  // `rest` is where the rest of it must go, or null when nothing changes. Returns false, with nothing
  // changed, when there is no memory for it.
  bool drop(std::size_t stripe, Transfer& transfer, std::byte*& rest) noexcept;
  // Data begins to arrive; returns where to put it. Errors: mismatch when the posted receive has
  // another identity, corrupted when it has another length, out_of_memory.
  Result<std::byte*> begin(Label label, std::size_t length, std::size_t stripe = 0);
  // The data that begin() announced has arrived completely. Returns whether a receive is done by it.
  bool finish(std::size_t stripe = 0);
  // No more data comes: waiting receives fail; data that is here can still be received.
  void end();
  // The peer is lost: everything fails and kept data is dropped.
  void fail();

 private:
  struct Posted {
    Label label;
    std::span<std::byte> bytes;
    Transfer* done;  // null: abandoned
  };
  struct Kept {
    Label label{0};
    std::unique_ptr<std::byte[]> bytes;
    std::size_t length = 0;
  };
  struct Arriving {
    bool is = false;
    bool drops = false;       // nobody wants it any more
    Kept what;                // its bytes are null when it goes straight to the receive
    Transfer* done = nullptr; // of the receive it is for, if there is one
    std::byte* copy_to = nullptr;  // of that receive, where the bytes must be copied
  };

  std::unique_lock<std::mutex> lock() {
    return shared_ ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
  }
  static Result<std::byte*> keep(Kept& what);

  const bool shared_;
  std::mutex mutex_;
  std::vector<Posted> posted_;
  std::vector<Kept> kept_;      // oldest first, so that equal tags keep their order
  bool ended_ = false;
  std::vector<Arriving> arriving_;  // by stripe
};

}  // namespace unisono::transport
