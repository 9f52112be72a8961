// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Matches the data that one peer sends with the receives posted for it, by tag. Whichever comes
// first waits for the other; data whose receive is not posted yet is kept in a buffer of its own.
// Thread: the one that drives the engine.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "transport/transport.hpp"

namespace unisono::transport {

class Postbox {
 public:
  enum class Match : std::uint8_t {
    waiting,   // nothing with this tag has begun to arrive
    arriving,  // it is arriving into a buffer: the rest can go straight to the receive
    done,      // it was here and has been copied
    mismatch,  // it has another length or identity: the transfer has failed
  };

  Match receive(Label label, std::span<std::byte> bytes, Transfer& done);
  // The receive's memory is the caller's again, and what comes for it is dropped. `rest` is where
  // the rest of it must go when it is arriving, else null. Returns false, with nothing changed,
  // when there is no memory for it.
  bool abandon(Transfer& transfer, std::byte*& rest) noexcept;
  // Data begins to arrive; returns where to put it. Errors: mismatch when the posted receive has
  // another identity, corrupted when it has another length, out_of_memory.
  Result<std::byte*> begin(Label label, std::size_t length);
  // The data that begin() announced has arrived completely.
  void finish();
  // No more data comes: waiting receives fail; data that is here can still be received.
  void end();
  // The peer is lost: everything fails and kept data is dropped.
  void fail();
  // After Match::mismatch: what came and what was expected.
  const Status& disagreement() const { return disagreement_; }

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

  Result<std::byte*> keep_arriving();

  std::vector<Posted> posted_;
  std::vector<Kept> kept_;      // oldest first, so that equal tags keep their order
  bool is_arriving_ = false, ended_ = false;
  bool drops_arriving_ = false;  // nobody wants it any more
  Kept arriving_;               // its bytes are null when it goes to `arriving_for_`
  Transfer* arriving_for_ = nullptr;
  Status disagreement_;
};

}  // namespace unisono::transport
