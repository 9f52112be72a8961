// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/data/bytes.hpp"

#include <gtest/gtest.h>

#include "base/data/rng.hpp"

namespace unisono {
namespace {

TEST(Bytes, ReadsBackWhatWasWritten) {
  ByteWriter out;
  out.put(std::uint8_t{7});
  out.put(-5);
  out.put(0.25);
  out.put_text("layer1.weight");
  out.put_text("");
  out.put_list(std::vector<std::int64_t>{1, -2, INT64_MAX});
  out.put_list(std::vector<std::uint16_t>{});

  ByteReader in(out.bytes());
  EXPECT_EQ(in.get<std::uint8_t>(), 7);
  EXPECT_EQ(in.get<int>(), -5);
  EXPECT_EQ(in.get<double>(), 0.25);
  EXPECT_EQ(in.get_text(), "layer1.weight");
  EXPECT_EQ(in.get_text(), "");
  EXPECT_EQ(in.get_list<std::int64_t>(), (std::vector<std::int64_t>{1, -2, INT64_MAX}));
  EXPECT_TRUE(in.get_list<std::uint16_t>().empty());
  EXPECT_TRUE(in.finished());
}

TEST(Bytes, IsLittleEndianOnTheWire) {
  ByteWriter out;
  out.put(std::uint32_t{0x01020304});
  EXPECT_EQ(out.bytes()[0], std::byte{4});
  EXPECT_EQ(out.bytes()[3], std::byte{1});
}

TEST(Bytes, GivesZeroAndStaysFailedAfterTheFirstBadRead) {
  ByteWriter out;
  out.put(std::uint32_t{1});
  ByteReader in(out.bytes());
  EXPECT_EQ(in.get<std::uint64_t>(), 0u);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.get<std::uint8_t>(), 0) << "the four bytes that are there must not be read now";
  EXPECT_EQ(in.get_text(), "");
  EXPECT_TRUE(in.get_list<int>().empty());
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_FALSE(in.finished());
}

TEST(Bytes, RefusesCountsTheRestCannotHold) {
  ByteWriter out;
  out.put(UINT32_MAX);
  out.put(std::uint64_t{1});
  ByteReader list(out.bytes());
  EXPECT_TRUE(list.get_list<std::int64_t>().empty());
  EXPECT_FALSE(list.ok());
  ByteReader text(out.bytes());
  EXPECT_EQ(text.get_text(), "");
  EXPECT_FALSE(text.ok());
}

TEST(Bytes, CanHoldFailsWhenTooManyAreAnnounced) {
  const std::vector<std::byte> ten(10);
  ByteReader in(ten);
  EXPECT_TRUE(in.can_hold(5, 2));
  EXPECT_FALSE(in.can_hold(6, 2));
  EXPECT_FALSE(in.ok());
}

TEST(Bytes, FinishedIsFalseWhileBytesRemain) {
  const std::vector<std::byte> two(2);
  ByteReader in(two);
  in.get<std::uint8_t>();
  EXPECT_TRUE(in.ok());
  EXPECT_FALSE(in.finished());
}

TEST(Bytes, NeverReadsOutOfBoundsOnNoise) {
  Rng rng(20260101);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> noise(rng.below(40));
    for (std::byte& b : noise) b = static_cast<std::byte>(rng.below(6));
    ByteReader in(noise);
    while (in.ok() && in.remaining() > 0) {
      switch (rng.below(4)) {
        case 0: in.get_text(); break;
        case 1: in.get_list<std::uint32_t>(); break;
        case 2: in.get_raw(rng.below(9)); break;
        default: in.get<std::uint16_t>();
      }
    }
    EXPECT_EQ(in.remaining(), 0u);
  }
}

}  // namespace
}  // namespace unisono
