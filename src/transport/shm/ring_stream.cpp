// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/ring_stream.hpp"

#include <algorithm>
#include <utility>

namespace unisono::transport {
namespace {
// Long writes and reads are published in pieces, so that both sides copy at the same time.
constexpr std::size_t kPiece = 32 << 10;
}  // namespace

RingStream::RingStream(RingMemory in, RingMemory out, Ringer peer,
                       std::shared_ptr<const void> keep_alive)
    : keep_alive_(std::move(keep_alive)), in_(in), out_(out), peer_(peer) {}

RingStream::~RingStream() {
  in_.close();
  out_.close();
  peer_.ring();
}

std::size_t RingStream::write(const Spans& spans) {
  std::size_t taken = 0, published = 0;
  const auto publish = [&] {
    if (taken == published) return;
    published = taken;
    out_.publish();
    peer_.ring();
  };
  for (auto rest : spans) {
    while (!rest.empty()) {
      const std::size_t n = out_.stage(rest.first(std::min(kPiece, rest.size())));
      if (n == 0) {
        publish();
        return taken;
      }
      taken += n;
      rest = rest.subspan(n);
      if (taken - published >= kPiece) publish();
    }
  }
  publish();
  return taken;
}

std::size_t RingStream::read(std::span<std::byte> bytes) {
  std::size_t given = 0;
  do {
    bool wake_writer = false;
    const auto rest = bytes.subspan(given);
    const std::size_t n = in_.read(rest.first(std::min(kPiece, rest.size())), wake_writer);
    if (wake_writer) peer_.ring();
    if (n == 0) break;
    given += n;
  } while (given < bytes.size());
  return given;
}

Status RingStream::health() {
  if (in_.broken() || out_.broken()) {
    return Status(Code::corrupted, "a counter of the shared ring is damaged");
  }
  if (in_.writer_closed()) return Status(Code::peer_lost, "the peer closed its end of the rings");
  return {};
}

bool RingStream::ready(bool writing) const {
  return in_.has_bytes() || in_.writer_closed() || (writing && out_.has_room());
}

void RingStream::finish_writing() {
  out_.close();
  peer_.ring();
}

}  // namespace unisono::transport
