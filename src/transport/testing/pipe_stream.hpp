// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A stream over bytes in memory, for code that reads and writes frames without a peer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "transport/stream.hpp"

namespace unisono::transport {

// One direction. Takes and returns `step` bytes at a time and can be tampered with.
struct Pipe {
  std::deque<std::byte> bytes;
  std::size_t step = SIZE_MAX;
  bool ended = false;
};

class PipeStream final : public Stream {
 public:
  // Both outlive the stream.
  PipeStream(Pipe* in, Pipe* out) : in_(in), out_(out) {}
  std::size_t write(std::span<const std::byte> bytes) override {
    const std::size_t n = std::min(bytes.size(), out_->step);
    out_->bytes.insert(out_->bytes.end(), bytes.begin(), bytes.begin() + static_cast<long>(n));
    return n;
  }
  std::size_t read(std::span<std::byte> bytes) override {
    const std::size_t n = std::min({bytes.size(), in_->step, in_->bytes.size()});
    std::copy_n(in_->bytes.begin(), n, bytes.begin());
    in_->bytes.erase(in_->bytes.begin(), in_->bytes.begin() + static_cast<long>(n));
    return n;
  }
  Status health() override { return in_->ended ? Status(Code::peer_lost, "end") : Status{}; }
  bool ready(bool) const override { return !in_->bytes.empty(); }
  void want_write(bool) override {}
  void finish_writing() override { out_->ended = true; }

 private:
  Pipe *in_, *out_;
};

}  // namespace unisono::transport
