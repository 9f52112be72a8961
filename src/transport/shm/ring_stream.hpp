// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A Stream over two rings: out to the peer and in from it. The peer's bell is rung after bytes
// were put in, and after bytes were taken out if the peer waits for room.
#pragma once

#include <memory>

#include "base/os/doorbell.hpp"
#include "transport/shm/ring.hpp"
#include "transport/stream.hpp"

namespace unisono::transport {

class RingStream : public Stream {
 public:
  // keep_alive owns the memory of the rings and of the peer's bell.
  RingStream(RingMemory in, RingMemory out, Ringer peer, std::shared_ptr<const void> keep_alive);
  // Closes both directions: the peer sees the end at once.
  ~RingStream() override;

  std::size_t write(std::span<const std::byte> bytes) override {
    return write(Spans{bytes});
  }
  std::size_t write(const Spans& spans) override;
  std::size_t read(std::span<std::byte> bytes) override;
  Status health() override;
  bool ready(bool writing) const override;
  void want_write(bool wanted) override { out_.wait_for_room(wanted); }
  void finish_writing() override;
  bool keeps_bytes() const override { return true; }

 private:
  std::shared_ptr<const void> keep_alive_;
  RingReader in_;
  RingWriter out_;
  Ringer peer_;
};

}  // namespace unisono::transport
