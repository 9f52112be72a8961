// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A two-way byte stream to one peer: what shared-memory rings, heap rings and TCP sockets have in
// common. Framing, matching and failure handling are built once on top of it (link.hpp, mesh.hpp).
// Thread: one at a time, whoever drives the lane. Nothing blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/os/poller.hpp"
#include "unisono/status.hpp"

namespace unisono::transport {

class Stream {
 public:
  virtual ~Stream() = default;
  // Returns how many bytes were taken; 0 when the peer has no room. Wakes the peer if it sleeps.
  virtual std::size_t write(std::span<const std::byte> bytes) = 0;
  // The same for several consecutive spans, so that a short frame goes out at once.
  using Spans = std::array<std::span<const std::byte>, 3>;
  virtual std::size_t write(const Spans& spans) {
    std::size_t taken = 0;
    for (const auto& span : spans) {
      if (span.empty()) continue;
      const std::size_t n = write(span);
      taken += n;
      if (n < span.size()) break;
    }
    return taken;
  }
  // Returns how many bytes were read; 0 when none are available now.
  virtual std::size_t read(std::span<std::byte> bytes) = 0;
  // Not ok once the peer is gone; bytes it sent before can still be read until read() returns 0.
  virtual Status health() = 0;
  // Whether read() would return bytes (or the peer has ended) or, when `writing`, write() would
  // take some: the last check before sleeping. Streams whose descriptor the poller watches may
  // return false, since the descriptor wakes the sleeper.
  virtual bool ready(bool writing) const = 0;
  // Says whether this side waits for room; must be known before the engine sleeps.
  virtual void want_write(bool wanted) = 0;
  // From now on that poller watches the stream, with that key. Returns false, and changes nothing,
  // where no poller does.
  virtual bool watch_by(Poller&, std::uint64_t) { return false; }
  // This side sends nothing more.
  virtual void finish_writing() = 0;
  // Whether bytes cannot change on the way (memory of one host), so payloads need no check.
  virtual bool keeps_bytes() const { return false; }
  // Whether it may break although both ends live, as what crosses a network may.
  virtual bool can_break() const { return false; }
  // Not healthy: whether the peer closed it in order. A kernel that closes with bytes unread says so.
  virtual bool closed_by_peer() const { return false; }
  // Shows the peer that this rank is alive without waking it; false when the stream cannot.
  virtual bool beat_quietly() { return false; }
  // Changes whenever the peer has beaten quietly.
  virtual std::uint64_t heard() const { return 0; }
};

}  // namespace unisono::transport
