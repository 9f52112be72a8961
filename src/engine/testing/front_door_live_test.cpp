// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The engine refuses at the door what callers may not ask for, by name and with the fix, and goes
// on: kinds and names that are its own, and whatever C may pass in.
#include <gmock/gmock.h>

#include <cstring>
#include <limits>

#include "engine/testing/thread_ranks.hpp"
#include "unisono/unisono.h"

namespace unisono::engine {
namespace {

using testing::HasSubstr;
using Floats = std::vector<float>;

TEST(FrontDoorLive, AdministrativeKindsHaveCallsOfTheirOwn) {
  run_ranks(2, [](Engine& engine) {
    auto set = engine.add_process_set({0, 1});
    ASSERT_TRUE(set.ok());
    for (int kind = static_cast<int>(Collective::join); kind < 256; ++kind) {
      for (const ProcessSetId where : {kWorld, *set}) {
        Operation operation{.kind = static_cast<Collective>(kind), .name = "x"};
        if (kind % 2 == 0) operation.members = {static_cast<Rank>(*set)};
        const Status status = engine.submit(operation, {.process_set = where}).wait();
        EXPECT_EQ(status.code(), Code::invalid_argument) << kind;
        EXPECT_THAT(status.message(), HasSubstr("'x'"));
        EXPECT_THAT(status.message(), HasSubstr("calls of their own"));
        const auto group = engine.submit_group("g", {operation}, {.process_set = where});
        EXPECT_EQ(group.at(0).wait().code(), Code::invalid_argument) << kind;
      }
    }
    Floats data(4, 1.0f);
    EXPECT_TRUE(engine.allreduce<float>("y", data, {.process_set = *set}).wait().ok());
    EXPECT_TRUE(engine.remove_process_set(*set).ok());
    EXPECT_TRUE(engine.join_ranks().wait().ok());
    EXPECT_TRUE(engine.switch_order("coordinator").wait().ok());
    EXPECT_TRUE(engine.barrier().wait().ok());
  });
}

TEST(FrontDoorLive, NamesOfTheEngineAreRefused) {
  run_ranks(2, [](Engine& engine) {
    Floats data(4, 1.0f);
    for (const char* name : {"unisono.topo/1/abc", "unisono.order/cache", "unisono.",
                             "unisono.join", "unisono.barrier/0"}) {
      const Status status = engine.allreduce<float>(name, data).wait();
      EXPECT_EQ(status.code(), Code::invalid_argument) << name;
      EXPECT_THAT(status.message(), HasSubstr("choose another"));
      EXPECT_EQ(engine.prepare_allreduce<float>(name, data).status().code(),
                Code::invalid_argument);
    }
    // Names that calls used for themselves are free for tensors.
    for (const char* name : {"barrier.0", "join", "unison", "unisono"}) {
      EXPECT_TRUE(engine.allreduce<float>(name, data).wait().ok()) << name;
    }
    EXPECT_TRUE(engine.barrier().wait().ok());
  });
}

TEST(FrontDoorLive, AbsurdArgumentsAreErrors) {
  run_ranks(1, [](Engine& engine) {
    Floats data(4, 1.0f);
    const auto code = [&](Operation operation, Settings settings = {}) {
      return engine.submit(std::move(operation), std::move(settings)).wait().code();
    };
    constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
    const Operation good{.kind = Collective::allreduce, .name = "a", .shape = {4},
                         .input = data.data(), .output = data.data()};
    Operation bad = good;
    bad.shape = {kHuge, kHuge};
    EXPECT_EQ(code(bad), Code::invalid_argument);
    bad.shape = {-1};
    EXPECT_EQ(code(bad), Code::invalid_argument);
    bad = good;
    bad.dtype = static_cast<DType>(200);
    EXPECT_EQ(code(bad), Code::invalid_argument);
    EXPECT_EQ(code(good, {.op = static_cast<ReduceOp>(99)}), Code::invalid_argument);
    EXPECT_EQ(code(good, {.process_set = 77}), Code::invalid_argument);
    bad = good;
    bad.kind = Collective::broadcast;
    EXPECT_EQ(code(bad, {.root = -1}), Code::invalid_argument);
    EXPECT_EQ(code(bad, {.root = 1}), Code::invalid_argument);
    bad.kind = Collective::alltoall;
    bad.output = nullptr;
    EXPECT_EQ(code(bad, {.splits = {kHuge, kHuge, 6}}), Code::invalid_argument);
    EXPECT_EQ(code(bad, {.splits = {kHuge}}), Code::invalid_argument);
    EXPECT_TRUE(engine.submit_group("g", {}).empty());
    EXPECT_EQ(engine.submit_group(std::string(5000, 'g'), {good}).at(0).wait().code(),
              Code::invalid_argument);
    EXPECT_EQ(engine.add_process_set({}).status().code(), Code::invalid_argument);
    EXPECT_EQ(engine.add_process_set({-1}).status().code(), Code::invalid_argument);
    EXPECT_EQ(engine.remove_process_set(0).code(), Code::invalid_argument);
    EXPECT_EQ(split_groups(std::vector<std::uint64_t>{1, 2}, 0).size(), 1u);
    EXPECT_EQ(code(good), Code::ok);
    EXPECT_TRUE(engine.allreduce<float>("b", data).wait_for(std::chrono::nanoseconds::max()).ok());
  });
}

TEST(CApi, NullAndAbsurdArgumentsAreErrors) {
  EXPECT_EQ(unisono_world_create(0), nullptr);
  EXPECT_EQ(unisono_world_create(-5), nullptr);
  unisono_world* world = unisono_world_create(1);
  ASSERT_NE(world, nullptr);
  unisono_engine* engine = nullptr;
  const int invalid = static_cast<int>(Code::invalid_argument);
  EXPECT_EQ(unisono_join(nullptr, nullptr), invalid);
  EXPECT_EQ(unisono_join_world(nullptr, 0, nullptr, &engine), invalid);
  EXPECT_EQ(unisono_join_world(world, 0, nullptr, nullptr), invalid);
  EXPECT_EQ(unisono_join_world(world, 7, nullptr, &engine), invalid);
  ASSERT_EQ(unisono_join_world(world, 0, nullptr, &engine), 0) << unisono_last_error();
  float data[4] = {1, 2, 3, 4};
  const int64_t shape[1] = {4};
  unisono_ticket* ticket = nullptr;
  const auto allreduce = [&](const char* name, unisono_dtype dtype, int dims, const int64_t* shapes,
                             const unisono_call* call, unisono_ticket** out) {
    return unisono_allreduce(engine, name, dtype, dims, shapes, data, data, call, out);
  };
  const auto f32 = static_cast<unisono_dtype>(0);
  EXPECT_EQ(allreduce(nullptr, f32, 1, shape, nullptr, &ticket), invalid);
  EXPECT_EQ(allreduce("a", f32, 1, nullptr, nullptr, &ticket), invalid);
  EXPECT_EQ(allreduce("a", f32, -1, shape, nullptr, &ticket), invalid);
  EXPECT_EQ(allreduce("a", f32, 1 << 30, shape, nullptr, &ticket), invalid);
  // C passes numbers where C++ has enumerators.
  const int absurd = 256;
  unisono_dtype dtype;
  unisono_call call = unisono_call_init();
  static_assert(sizeof dtype == sizeof absurd && sizeof call.op == sizeof absurd);
  std::memcpy(&dtype, &absurd, sizeof absurd);
  std::memcpy(&call.op, &absurd, sizeof absurd);
  EXPECT_EQ(allreduce("a", dtype, 1, shape, nullptr, &ticket), invalid);
  EXPECT_EQ(allreduce("a", f32, 1, shape, nullptr, nullptr), invalid);
  EXPECT_EQ(allreduce("a", f32, 1, shape, &call, &ticket), invalid);
  EXPECT_EQ(allreduce("unisono.x", f32, 1, shape, nullptr, &ticket), invalid);
  EXPECT_EQ(unisono_alltoall(engine, "x", f32, 1, shape, data, shape, -3, nullptr, &ticket),
            invalid);
  EXPECT_EQ(unisono_grouped_allreduce(engine, "g", 1, nullptr, f32, nullptr, nullptr, nullptr,
                                      nullptr, nullptr, nullptr),
            invalid);
  uint32_t id = 0;
  const int ranks[1] = {0};
  EXPECT_EQ(unisono_add_process_set(engine, nullptr, 1, &id), invalid);
  EXPECT_EQ(unisono_add_process_set(engine, ranks, -1, &id), invalid);
  EXPECT_EQ(unisono_add_process_set(engine, ranks, 1, nullptr), invalid);
  EXPECT_EQ(unisono_remove_process_set(engine, 99), invalid);
  EXPECT_EQ(unisono_wait(nullptr, -1), invalid);
  size_t bytes = 1;
  int count = 1;
  EXPECT_EQ(unisono_output_data(nullptr, &bytes), nullptr);
  EXPECT_EQ(unisono_output_shape(nullptr), nullptr);
  EXPECT_EQ(unisono_output_splits(nullptr, &count), nullptr);
  EXPECT_EQ(unisono_output_dims(nullptr), 0);
  EXPECT_EQ(bytes + static_cast<size_t>(count), 0u);
  ASSERT_EQ(allreduce("a", f32, 1, shape, nullptr, &ticket), 0) << unisono_last_error();
  EXPECT_EQ(unisono_wait(ticket, std::numeric_limits<double>::infinity()), 0);
  unisono_ticket_free(ticket);
  unisono_leave(engine);
  unisono_world_free(world);
}

}  // namespace
}  // namespace unisono::engine
