// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A two-way byte stream to one peer: what shared-memory rings, heap rings and TCP sockets have in
// common. Framing, matching and failure handling are built once on top of it (link.hpp, mesh.hpp).
// Thread: the one that drives the engine. Nothing blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "unisono/status.hpp"

namespace unisono::transport {

class Stream {
 public:
  virtual ~Stream() = default;
  // How many bytes were taken; 0 when the peer has no room. The peer is woken if it sleeps.
  virtual std::size_t write(std::span<const std::byte> bytes) = 0;
  // The same for some spans in a row, so that a short frame goes out as one piece.
  using Pieces = std::array<std::span<const std::byte>, 3>;
  virtual std::size_t write(const Pieces& pieces) {
    std::size_t taken = 0;
    for (const auto& piece : pieces) {
      if (piece.empty()) continue;
      const std::size_t n = write(piece);
      taken += n;
      if (n < piece.size()) break;
    }
    return taken;
  }
  // How many bytes were given; 0 when none are there now.
  virtual std::size_t read(std::span<std::byte> bytes) = 0;
  // Not ok once the peer is gone; bytes it sent before can still be read until read() gives 0.
  virtual Status health() = 0;
  // Whether read() would give bytes (or news of the peer's end), or, when `writing`, write()
  // would take some: the last look before sleeping. Streams whose descriptor the poller watches
  // may answer false, since the descriptor wakes the sleeper.
  virtual bool ready(bool writing) const = 0;
  // Sleeping is allowed only when it is known whether room is waited for.
  virtual void want_write(bool wanted) = 0;
  // This side sends nothing more.
  virtual void finish_writing() = 0;
  // Whether bytes cannot change on the way (memory of one host), so payloads need no check.
  virtual bool keeps_bytes() const { return false; }
  // Shows the peer that this rank is alive without waking it; false when the stream cannot.
  virtual bool beat_quietly() { return false; }
  // Changes whenever the peer has beaten quietly.
  virtual std::uint64_t heard() const { return 0; }
};

}  // namespace unisono::transport
