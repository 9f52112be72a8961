// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Windows between two operations: the second shows its data while others still read the first's,
// and where memory is too short for that it sleeps until they are done. Counted in steps.
#include <poll.h>

#include "move/local/testing/local_test_host.hpp"

namespace unisono::move {
namespace {

constexpr std::size_t kBytes = 50'000 * 4;  // one chunk of each slice
// Of two members, and the least of which any number of slots can be had.
const std::size_t kSlot = local_allreduce_window(2, kBytes);
const std::size_t kWindow = LocalTeam::kSlots * kSlot;

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
    finish_first();
  }
  // Finishes member 0's operation; member 1 stops one step before its last.
  void finish_first() {
    bool finished = false;
    for (std::size_t i = 0; !finished; i = machines[1]->committed() ? 0 : 1 - i) {
      finished = machines[i]->step() == Step::finished;
      ASSERT_TRUE(i == 0 || !finished);
    }
    machines[0].reset();
    ASSERT_TRUE(machines[1]->committed());
  }
  LocalTestHost host;
  Bytes data[2];
  std::unique_ptr<LocalCollective> machines[2];
};

TEST(LocalWindows, TheNextOperationShowsItsDataWhileTheLastIsRead) {
  OneAhead pair(64u << 20);
  auto& next = pair.machines[0];
  next = make_local_allreduce(pair.host.team(0), over(pair.data[0]));
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
    pair.finish_first();
    next = make_local_allreduce(pair.host.team(0), over(pair.data[0]));
    EXPECT_TRUE(next->ready());
    EXPECT_EQ(next->step(), Step::advanced);
    EXPECT_EQ(pair.host.team(0).windows(), 2u);
  }
}

TEST(LocalWindows, WithRoomForOneTheNextOperationSleepsUntilItIsRung) {
  OneAhead pair(arena::kBoardBytes + kWindow * 3 / 2);
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

TEST(LocalWindows, NoRoomForASlotIsTrouble) {
  LocalTestHost host(2, 5, 1, arena::kBoardBytes + kSlot - 4096);
  Bytes data(kBytes);
  auto machine = make_local_allreduce(host.team(0), over(data));
  EXPECT_EQ(machine->step(), Step::waiting);
  EXPECT_EQ(machine->trouble().code(), Code::out_of_memory);
  EXPECT_FALSE(machine->ready());
}

// Member i has room for so many slots; the program's own tensors take up the rest.
TEST(LocalWindows, MembersWithLittleSharedMemoryGetByWithFewerSlots) {
  for (const std::vector<std::size_t>& room : std::vector<std::vector<std::size_t>>{
           {1, 1}, {1, 4}, {3, 1, 2}, {2, 9, 1, 4, 1}}) {
    const int n = static_cast<int>(room.size());
    LocalTestHost host(n, 21);
    const std::size_t count = 1'500'007;
    const std::size_t slot = local_allreduce_window(n, count * 4);
    for (int i = 0; i < n; ++i) {
      const std::size_t left = room[static_cast<std::size_t>(i)] * slot;
      ASSERT_TRUE(host.heap(i).take(host.team(i).own().size() - arena::kBoardBytes - left, 4096));
    }
    for (int round = 0; round < 4; ++round) {
      std::vector<Bytes> inputs;
      for (int i = 0; i < n; ++i) inputs.push_back(filled(DType::f32, count, host.rng()));
      const Bytes want = expected(DType::f32, ReduceOp::sum, inputs, count);
      std::vector<std::unique_ptr<LocalCollective>> machines;
      for (Bytes& input : inputs) {
        machines.push_back(
            make_local_allreduce(host.team(static_cast<int>(machines.size())), over(input)));
      }
      host.run(std::move(machines));
      for (int i = 0; i < n; ++i) {
        const auto index = static_cast<std::size_t>(i);
        ASSERT_TRUE(inputs[index] == want) << "member " << i << " of " << n;
        EXPECT_LE(host.team(i).slots(), room[index]);
      }
    }
  }
}

}  // namespace
}  // namespace unisono::move
