// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "arena/segment.hpp"

#include <gtest/gtest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "arena/neighbourhood.hpp"
#include "base/testing/deny_call.hpp"

namespace unisono::arena {
namespace {

constexpr std::size_t kBytes = 8 << 20;

TEST(Segment, IsSharedWithWhoeverMapsItsDescriptor) {
  const Segment own = Segment::create(kBytes).value();
  const Segment mapped = Segment::map(Fd(::dup(own.fd()))).value();
  ASSERT_NE(own.base(), mapped.base());
  own.at(12345)[0] = std::byte{7};
  EXPECT_EQ(mapped.at(12345)[0], std::byte{7});
  EXPECT_EQ(mapped.size(), kBytes);
}

TEST(Segment, KnowsWhatItHolds) {
  const Segment own = Segment::create(kBytes).value();
  EXPECT_TRUE(own.holds(own.base(), kBytes));
  EXPECT_TRUE(own.holds(own.at(100), 0));
  EXPECT_FALSE(own.holds(own.at(1), kBytes));
  EXPECT_FALSE(own.holds(own.base() - 1, 1));
  int elsewhere = 0;
  EXPECT_FALSE(own.holds(&elsewhere, sizeof elsewhere));
}

std::size_t committed_bytes(const Segment& segment) {
  struct stat about {};
  EXPECT_EQ(::fstat(segment.fd(), &about), 0);
  return static_cast<std::size_t>(about.st_blocks) * 512;
}

// Signals interrupt every long call, as a profiler's timer does; short calls succeed.
TEST(Segment, CommitsInShorterPiecesWhatSignalsInterrupt) {
  const DeniedCall longer_than{SYS_fallocate, EINTR, 3, 64 << 10};
  const Denied answer = run_denied(longer_than, [] {
    Segment own = Segment::create(kBytes).value();
    const std::size_t odd = (1 << 20) + 3 * 4096;
    if (!own.commit(4096, odd).ok() || committed_bytes(own) < odd) return false;
    own.discard(4096, odd);
    return committed_bytes(own) == 0;
  });
  if (answer == Denied::untestable) GTEST_SKIP() << "no system call filters here";
  EXPECT_EQ(answer, Denied::held);
}

TEST(Segment, WhatTheKernelRefusesIsOutOfMemory) {
  const Denied answer = run_denied({SYS_fallocate, ENOSPC}, [] {
    Segment own = Segment::create(kBytes).value();
    return own.commit(0, 4096).code() == Code::out_of_memory;
  });
  if (answer == Denied::untestable) GTEST_SKIP() << "no system call filters here";
  EXPECT_EQ(answer, Denied::held);
}

TEST(Segment, MemoryThatCouldShrinkIsRefused) {
  Fd loose(::memfd_create("loose", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(loose.get(), kBytes), 0);
  EXPECT_EQ(Segment::map(std::move(loose)).status().code(), Code::corrupted);
  EXPECT_EQ(Segment::map(Fd(::open("/dev/null", 2))).status().code(), Code::corrupted);
}

TEST(Segment, DiscardedPagesReadAsZero) {
  Segment own = Segment::create(kBytes).value();
  ASSERT_TRUE(own.commit(0, kBytes).ok());
  std::fill_n(own.base(), kBytes, std::byte{1});
  own.discard(4096, 8192);
  EXPECT_EQ(own.at(4095)[0], std::byte{1});
  EXPECT_EQ(own.at(4096)[0], std::byte{0});
  EXPECT_EQ(own.at(12288)[0], std::byte{1});
}

TEST(Neighbourhood, CoversOnlyRanksThatAllMapEachOther) {
  Doorbell bell;
  auto hood = Neighbourhood::create(0, 3, kBytes, bell.ringer()).value();
  for (Rank rank : {1, 2}) {
    hood->add(rank, std::make_shared<Segment>(Segment::create(kBytes).value()), bell.ringer(),
              nullptr);
  }
  std::vector<std::vector<bool>> shares(3, std::vector<bool>(3, true));
  shares[1][2] = shares[2][1] = false;
  hood->settle(shares);
  EXPECT_TRUE(hood->covers(Members::of({0, 1}, 0)));
  EXPECT_TRUE(hood->covers(Members::of({0, 2}, 0)));
  EXPECT_FALSE(hood->covers(Members::of({0, 1, 2}, 0)));
  EXPECT_EQ(hood->neighbours(Members::of({0, 2}, 0)).size(), 2u);
}

}  // namespace
}  // namespace unisono::arena
