// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Memory of one rank that every rank of the host maps: a memfd with no name anywhere, so nothing is
// left behind by a killed process. Address space is reserved once at its full size; pages come when
// they are first touched, so a segment grows without anyone mapping it again.
//
// Thread: the mapping is immutable; who writes where is agreed by its users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/os/fd.hpp"
#include "unisono/status.hpp"

namespace unisono::arena {

class Segment {
 public:
  Segment() = default;
  // Makes this rank's own segment. Returns unavailable, with a remedy, when the machine refuses.
  static Result<Segment> create(std::size_t bytes);
  // Maps a peer's segment, after checking that it is sealed against shrinking and has this layout.
  static Result<Segment> map(Fd memory);

  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  bool valid() const { return base_ != nullptr; }
  int fd() const { return memory_.get(); }
  std::byte* base() const { return base_; }
  std::size_t size() const { return bytes_; }
  std::byte* at(std::size_t offset) const { return base_ + offset; }
  // Whether [address, address + bytes) lies inside.
  bool holds(const void* address, std::size_t bytes) const;
  std::size_t offset_of(const void* address) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - base_);
  }
  // Allocates physical pages now, so that a shortage is an error here and not a signal later.
  Status commit(std::size_t offset, std::size_t bytes);
  // Frees the physical pages of a range; it reads as zero afterwards.
  void discard(std::size_t offset, std::size_t bytes);

 private:
  Segment(Fd memory, std::byte* base, std::size_t bytes);
  Fd memory_;
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace unisono::arena
