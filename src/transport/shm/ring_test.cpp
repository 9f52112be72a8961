// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/ring_stream.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "base/data/rng.hpp"
#include "transport/shm/pair_memory.hpp"

namespace unisono::transport {
namespace {

struct SmallRing {
  RingHeader header;
  std::array<std::byte, 64> bytes{};
  RingMemory memory() { return {&header, bytes.data(), bytes.size()}; }
};

TEST(Ring, WrapsAndStopsWhenFull) {
  SmallRing ring;
  RingWriter writer(ring.memory());
  RingReader reader(ring.memory());
  std::array<std::byte, 50> in{}, out{};
  for (unsigned round = 0; round < 100; ++round) {
    for (auto& b : out) b = static_cast<std::byte>(round);
    ASSERT_EQ(writer.stage(out), 50u);
    writer.publish();
    ASSERT_EQ(writer.stage(out), 14u);
    ASSERT_FALSE(writer.has_room());
    writer.publish();
    bool wake = false;
    ASSERT_EQ(reader.read(in, wake), 50u);
    ASSERT_EQ(in, out);
    ASSERT_EQ(reader.read(in, wake), 14u);
    ASSERT_EQ(reader.read(in, wake), 0u);
    ASSERT_FALSE(wake);
  }
}

TEST(Ring, ReaderWakesAWriterThatWaits) {
  SmallRing ring;
  RingWriter writer(ring.memory());
  RingReader reader(ring.memory());
  std::array<std::byte, 64> bytes{};
  writer.stage(bytes);
  writer.publish();
  writer.wait_for_room(true);
  bool wake = false;
  reader.read(bytes, wake);
  EXPECT_TRUE(wake);
  EXPECT_TRUE(writer.has_room());
}

TEST(Ring, DamagedCountersBreakItWithoutAccessOutOfBounds) {
  Rng rng(7);
  for (int round = 0; round < 10000; ++round) {
    SmallRing ring;
    RingWriter writer(ring.memory());
    RingReader reader(ring.memory());
    std::array<std::byte, 40> bytes{};
    bool wake = false;
    writer.stage(bytes);
    writer.publish();
    reader.read(std::span(bytes).first(rng.below(40)), wake);
    ring.header.tail.store(rng() >> rng.below(64));
    ring.header.head.store(rng() >> rng.below(64));
    reader.read(bytes, wake);
    writer.stage(bytes);
    writer.stage(bytes);
    reader.read(bytes, wake);
  }
  SmallRing ring;
  RingReader reader(ring.memory());
  ring.header.tail.store(65);
  std::array<std::byte, 8> bytes{};
  bool wake = false;
  EXPECT_EQ(reader.read(bytes, wake), 0u);
  EXPECT_TRUE(reader.broken());
  RingWriter writer(ring.memory());
  ring.header.head.store(1);
  std::array<std::byte, 80> much{};
  EXPECT_EQ(writer.stage(much), 0u);
  EXPECT_TRUE(writer.broken());
}

TEST(Ring, BytesKeepTheirOrderBetweenThreads) {
  SmallRing ring;
  constexpr std::uint32_t kCount = 200000;
  std::thread other([&] {
    RingWriter writer(ring.memory());
    for (std::uint32_t i = 0; i < kCount;) {
      if (writer.stage(std::as_bytes(std::span(&i, 1))) == 0) {
        std::this_thread::yield();
        continue;
      }
      writer.publish();
      ++i;
    }
  });
  RingReader reader(ring.memory());
  std::uint32_t value = 0;
  bool wake = false;
  for (std::uint32_t i = 0; i < kCount;) {
    if (reader.read(std::as_writable_bytes(std::span(&value, 1)), wake) == 0) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(value, i++);
  }
  other.join();
}

TEST(RingStream, DamagedCounterIsReportedAsCorrupted) {
  std::vector<std::byte> memory(kPairBytes + 4096);
  auto aligned = (reinterpret_cast<std::uintptr_t>(memory.data()) + 4095) & ~std::uintptr_t{4095};
  PairMemory pair(reinterpret_cast<void*>(aligned));
  RingStream stream(pair.data(1), pair.data(0), {}, nullptr);
  pair.header().data[1].tail.store(kDataRingBytes + 1);
  std::array<std::byte, 8> bytes{};
  EXPECT_EQ(stream.read(bytes), 0u);
  EXPECT_EQ(stream.health().code(), Code::corrupted);
}

}  // namespace
}  // namespace unisono::transport
