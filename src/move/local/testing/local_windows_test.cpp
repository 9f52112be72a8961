// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Windows between two operations: the second shows its data while others still read the first's,
// and where memory is too short for that it sleeps until they are done. Counted in steps.
#include <poll.h>

#include "move/local/testing/local_test_host.hpp"

namespace unisono::move {
namespace {

constexpr std::size_t kBytes = 300'000 * 4;

LocalReduction over(Bytes& data) {
  return {.items = {{data.data(), data.data(), 0, data.size()}}, .bytes = data.size()};
}

bool rung(Doorbell& bell) {
  pollfd event{bell.fd(), POLLIN, 0};
  return ::poll(&event, 1, 0) == 1;
}

// Member 0 of two has finished its first operation; member 1 has all it needs but still reads.
struct OneAhead {
  explicit OneAhead(std::size_t segment_bytes) : host(2, 5, 1, segment_bytes) {
    for (std::size_t i = 0; i < 2; ++i) {
      data[i].assign(kBytes, std::byte(0));
      machines[i] = make_local_allreduce(host.team(static_cast<int>(i)), over(data[i]));
    }
    // Member 1 stops one step before its last, whatever member 0 does.
    while (machines[0]->step() == Step::advanced || machines[1]->step() == Step::advanced) {
      if (machines[1]->committed()) break;
    }
    while (machines[0]->step() != Step::finished) {
    }
    machines[0].reset();
    EXPECT_TRUE(machines[1]->committed());
  }
  LocalTestHost host;
  Bytes data[2];
  std::unique_ptr<LocalCollective> machines[2];
};

TEST(LocalWindows, TheNextOperationShowsItsDataWhileTheLastIsRead) {
  OneAhead pair(64u << 20);
  auto next = make_local_allreduce(pair.host.team(0), over(pair.data[0]));
  EXPECT_TRUE(next->ready());
  EXPECT_EQ(next->step(), Step::advanced);  // it has shown what it can, and waits for member 1
  EXPECT_EQ(next->step(), Step::waiting);
  EXPECT_FALSE(next->ready());
  EXPECT_EQ(pair.host.team(0).windows(), 2u);
  // There are never more than two.
  for (int round = 0; round < 5; ++round) {
    while (pair.machines[1]->step() != Step::finished) {
    }
    pair.machines[1] = make_local_allreduce(pair.host.team(1), over(pair.data[1]));
    while (!pair.machines[1]->committed()) pair.machines[1]->step(), next->step();
    while (next->step() != Step::finished) {
    }
    next = make_local_allreduce(pair.host.team(0), over(pair.data[0]));
    EXPECT_TRUE(next->ready());
    EXPECT_EQ(next->step(), Step::advanced);
    EXPECT_EQ(pair.host.team(0).windows(), 2u);
  }
}

TEST(LocalWindows, WithRoomForOneTheNextOperationSleepsUntilItIsRung) {
  OneAhead pair(arena::kBoardBytes + (4u << 20));  // alignment costs up to 2 MiB of it
  auto next = make_local_allreduce(pair.host.team(0), over(pair.data[0]));
  int steps = 0;
  while (next->ready() && steps < 10) next->step(), ++steps;
  EXPECT_LE(steps, 1) << "tries once, then sleeps";
  EXPECT_EQ(pair.host.team(0).windows(), 1u);
  EXPECT_TRUE(next->trouble().ok());
  pair.host.bell(0).arm();
  EXPECT_FALSE(next->ready());
  EXPECT_FALSE(rung(pair.host.bell(0)));
  while (pair.machines[1]->step() != Step::finished) {
  }
  EXPECT_TRUE(rung(pair.host.bell(0)));
  EXPECT_TRUE(next->ready());
  EXPECT_EQ(next->step(), Step::advanced);
  EXPECT_EQ(pair.host.team(0).windows(), 1u);
}

TEST(LocalWindows, NoRoomForTheFirstIsTrouble) {
  LocalTestHost host(2, 5, 1, arena::kBoardBytes + (1u << 20));
  Bytes data(kBytes);
  auto machine = make_local_allreduce(host.team(0), over(data));
  EXPECT_EQ(machine->step(), Step::waiting);
  EXPECT_EQ(machine->trouble().code(), Code::out_of_memory);
  EXPECT_FALSE(machine->ready());
}

}  // namespace
}  // namespace unisono::move
