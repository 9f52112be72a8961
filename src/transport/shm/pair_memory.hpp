// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How the memory that two ranks of one host share is laid out: one page of headers and heartbeat
// words, then two control rings and two data rings. The heap (threads) and memfds (processes) use
// the same layout.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transport/shm/ring.hpp"

namespace unisono::transport {

inline constexpr std::uint32_t kPairMagic = 0x75507261;
inline constexpr std::uint32_t kPairVersion = 2;
inline constexpr std::size_t kControlRingBytes = 64 << 10;
inline constexpr std::size_t kDataRingBytes = 256 << 10;
inline constexpr std::size_t kPairHeaderBytes = 4096;

// Side 0 is the one that made the memory (or the lower rank); index = the side that writes.
struct PairHeader {
  struct alignas(128) Beat {
    std::atomic<std::uint64_t> count{0};
  };
  std::uint32_t magic = kPairMagic;
  std::uint32_t version = kPairVersion;
  Beat beats[2];
  RingHeader control[2], data[2];
};
static_assert(sizeof(PairHeader) <= kPairHeaderBytes);

inline constexpr std::size_t kPairBytes =
    kPairHeaderBytes + 2 * kControlRingBytes + 2 * kDataRingBytes;

// The memory of one pair, zeroed and page-aligned, with a PairHeader at its start.
class PairMemory {
 public:
  explicit PairMemory(void* at) : at_(static_cast<std::byte*>(at)) {}
  PairHeader& header() const { return *reinterpret_cast<PairHeader*>(at_); }
  RingMemory control(int writer) const {
    return {&header().control[writer],
            at_ + kPairHeaderBytes + static_cast<std::size_t>(writer) * kControlRingBytes,
            kControlRingBytes};
  }
  RingMemory data(int writer) const {
    return {&header().data[writer],
            at_ + kPairHeaderBytes + 2 * kControlRingBytes +
                static_cast<std::size_t>(writer) * kDataRingBytes,
            kDataRingBytes};
  }

 private:
  std::byte* at_;
};

}  // namespace unisono::transport
