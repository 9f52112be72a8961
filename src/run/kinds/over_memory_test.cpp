// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/kinds/over_memory.hpp"

#include <gtest/gtest.h>

namespace unisono::run {
namespace {

struct Machine final : move::LocalCollective {
  explicit Machine(int& undone) : undone_(undone) {}
  move::Step step() override { return move::Step::finished; }
  std::string describe() const override { return "a machine"; }
  bool joined() const override { return true; }
  bool committed() const override { return true; }
  void undo() override { ++undone_; }
  int& undone_;
};

// As much of a BucketRun as OverMemory looks at.
struct Kind {
  virtual ~Kind() = default;
  virtual bool joined() const = 0;
  virtual bool committed() const = 0;
  virtual void undo() = 0;
  std::unique_ptr<move::CollectiveMachine> machine_;
};

struct MemoryRun final : OverMemory<Kind> {
  using OverMemory::use;
  Kind& kind() { return *this; }
};

TEST(OverMemory, AsksItsMachine) {
  int undone = 0;
  MemoryRun run;
  run.use(std::make_unique<Machine>(undone));
  EXPECT_TRUE(run.joined());
  EXPECT_TRUE(run.kind().committed());
  run.kind().undo();
  EXPECT_EQ(undone, 1);
}

TEST(OverMemory, WithoutAMachineNobodyHasComeAndNothingIsUndone) {
  int undone = 0;
  MemoryRun run;
  EXPECT_FALSE(run.joined());
  run.use(std::make_unique<Machine>(undone));
  // A tensor is done, and the machine of the next could not be made: the job fails from here.
  run.machine_.reset();
  EXPECT_FALSE(run.joined());
  EXPECT_FALSE(run.kind().committed());
  run.kind().undo();
  EXPECT_EQ(undone, 0);
}

}  // namespace
}  // namespace unisono::run
