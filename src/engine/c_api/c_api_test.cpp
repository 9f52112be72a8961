// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The C interface as a C program uses it, with two ranks as threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "engine/c_api/c_ranks.hpp"
#include "unisono/unisono.h"
#include "unisono/unisono.hpp"

namespace unisono::engine {
namespace {

constexpr int kRanks = 2;

int allreduce(unisono_engine* engine, const char* name, std::vector<float>& data,
              const unisono_call* call) {
  const int64_t shape[] = {static_cast<int64_t>(data.size())};
  unisono_ticket* ticket = nullptr;
  int code = unisono_allreduce(engine, name, UNISONO_F32, 1, shape, data.data(), data.data(), call,
                               &ticket);
  if (code == UNISONO_OK) code = unisono_wait(ticket, -1);
  unisono_ticket_free(ticket);
  return code;
}

TEST(CApi, CodecsApply) {
  run_c_ranks(kRanks, [](unisono_engine* engine, int) {
    // 1/3 has more digits than half precision holds.
    std::vector<float> data(10, 1.0F / 3);
    unisono_call call = unisono_call_init();
    call.op = UNISONO_SUM;
    call.codec = "fp16";
    ASSERT_EQ(allreduce(engine, "x", data, &call), UNISONO_OK) << unisono_last_error();
    for (const float value : data) {
      EXPECT_NEAR(value, 2.0F / 3, 1e-3);
      EXPECT_NE(value, 2.0F / 3);
    }
    call.codec = "morse";
    EXPECT_EQ(allreduce(engine, "x", data, &call), UNISONO_INVALID_ARGUMENT);
    EXPECT_NE(std::string(unisono_last_error()).find("morse"), std::string::npos);
  });
}

TEST(CApi, WhatCodecsKeepIsSavedAndLoaded) {
  run_c_ranks(kRanks, [](unisono_engine* engine, int) {
    unisono_call call = unisono_call_init();
    call.codec = "ef|topk:8:1";
    const auto step = [&] {
      std::vector<float> data = {4, 3, 2, 0, 0, 0, 0, 0};
      EXPECT_EQ(allreduce(engine, "kept", data, &call), UNISONO_OK) << unisono_last_error();
      return data;
    };
    step();
    std::size_t needed = 0;
    ASSERT_EQ(unisono_codec_state(engine, nullptr, 0, &needed), UNISONO_OK);
    std::vector<char> state(needed);
    ASSERT_EQ(unisono_codec_state(engine, state.data(), needed, nullptr), UNISONO_OK);
    const std::vector<float> first = step(), second = step();
    EXPECT_NE(first, second);
    ASSERT_EQ(unisono_barrier(engine, 0), UNISONO_OK);
    ASSERT_EQ(unisono_load_codec_state(engine, state.data(), needed), UNISONO_OK);
    ASSERT_EQ(unisono_barrier(engine, 0), UNISONO_OK);
    EXPECT_EQ(step(), first);
    EXPECT_EQ(unisono_load_codec_state(engine, state.data(), needed - 1),
              UNISONO_INVALID_ARGUMENT);
    EXPECT_EQ(unisono_load_codec_state(engine, nullptr, 1), UNISONO_INVALID_ARGUMENT);
  });
}

struct Heard {
  std::atomic<int> calls{0}, code{-1};
};

TEST(CApi, CallbacksHearHowAnOperationEnds) {
  run_c_ranks(kRanks, [](unisono_engine* engine, int rank) {
    Heard heard;
    unisono_call call = unisono_call_init();
    call.context = &heard;
    call.on_done = [](int code, const char* message, void* context) {
      auto& mine = *static_cast<Heard*>(context);
      mine.code = code;
      mine.calls += message != nullptr ? 1 : 100;
    };
    std::vector<float> data(4, 1);
    EXPECT_EQ(allreduce(engine, "good", data, &call), UNISONO_OK);
    EXPECT_EQ(heard.calls, 1);
    EXPECT_EQ(heard.code, UNISONO_OK);
    std::vector<float> uneven(rank == 0 ? 4 : 5, 1);
    EXPECT_EQ(allreduce(engine, "bad", uneven, &call), UNISONO_MISMATCH);
    EXPECT_EQ(heard.calls, 2);
    EXPECT_EQ(heard.code, UNISONO_MISMATCH);
  });
}

TEST(CApi, PersistentOperationsRunAgainAndAgainInTheArena) {
  run_c_ranks(kRanks, [](unisono_engine* engine, int rank) {
    unisono_block* block = nullptr;
    ASSERT_EQ(unisono_arena_allocate(engine, 1000 * sizeof(float), &block), UNISONO_OK)
        << unisono_last_error();
    EXPECT_EQ(unisono_block_size(block), 1000 * sizeof(float));
    EXPECT_GE(unisono_arena_used(engine), unisono_block_size(block));
    EXPECT_GT(unisono_arena_capacity(engine), unisono_arena_used(engine));
    auto* data = static_cast<float*>(unisono_block_data(block));
    const int64_t shape[] = {1000};
    unisono_call call = unisono_call_init();
    call.op = UNISONO_SUM;
    unisono_persistent* persistent = nullptr;
    ASSERT_EQ(unisono_prepare_allreduce(engine, "p", UNISONO_F32, 1, shape, data, data, &call,
                                        &persistent), UNISONO_OK) << unisono_last_error();
    for (int round = 0; round < 50; ++round) {
      std::fill_n(data, 1000, static_cast<float>(rank + round));
      unisono_ticket* ticket = nullptr;
      ASSERT_EQ(unisono_start(persistent, &ticket), UNISONO_OK) << unisono_last_error();
      ASSERT_EQ(unisono_wait(ticket, -1), UNISONO_OK) << unisono_last_error();
      unisono_ticket_free(ticket);
      for (int i = 0; i < 1000; ++i) ASSERT_EQ(data[i], static_cast<float>(1 + 2 * round));
    }
    EXPECT_EQ(unisono_release(persistent), UNISONO_OK) << unisono_last_error();
    unisono_block_free(block);
  });
}

TEST(CApi, StatisticsAreReadByName) {
  run_c_ranks(kRanks, [](unisono_engine* engine, int) {
    std::vector<float> data(4, 1);
    ASSERT_EQ(allreduce(engine, "x", data, nullptr), UNISONO_OK);
    int names = 0;
    for (const char* const* name = unisono_stat_names(); *name != nullptr; ++name, ++names) {
      const std::string_view text = *name;
      uint64_t count = 0;
      double seconds = -1;
      const bool time = text.ends_with("_s");
      EXPECT_EQ(unisono_stat_count(engine, *name, &count), time ? UNISONO_INVALID_ARGUMENT : 0);
      EXPECT_EQ(unisono_stat_seconds(engine, *name, &seconds), time ? 0 : UNISONO_INVALID_ARGUMENT);
      if (time) {
        EXPECT_GE(seconds, 0) << text;
      }
    }
    EXPECT_GT(names, 20);
    uint64_t operations = 0;
    ASSERT_EQ(unisono_stat_count(engine, "operations", &operations), UNISONO_OK);
    EXPECT_GE(operations, 1U);
    EXPECT_EQ(unisono_stat_count(engine, "no such", &operations), UNISONO_INVALID_ARGUMENT);
    char text[8];
    int slow = -2;
    char begins[9];
    std::size_t needed = 0;
    ASSERT_EQ(unisono_explain(engine, begins, sizeof begins, &needed), UNISONO_OK);
    EXPECT_EQ(std::string_view(begins).size(), 8u);
    EXPECT_GT(needed, sizeof begins);
    ASSERT_EQ(unisono_verdict(engine, text, sizeof text, &slow), UNISONO_OK);
    EXPECT_LT(std::strlen(text), sizeof text);
    EXPECT_GE(slow, -1);
  });
}

// A caller built with another header has another struct; only what both know counts.
TEST(CApi, TheSizeOfACallIsHonoured) {
  run_c_ranks(kRanks, [](unisono_engine* engine, int) {
    std::vector<float> data(4, 3);
    unisono_call older = unisono_call_init();
    older.size = offsetof(unisono_call, codec);
    std::memset(static_cast<void*>(&older.codec), 0x5a, sizeof older - older.size);
    EXPECT_EQ(allreduce(engine, "older", data, &older), UNISONO_OK) << unisono_last_error();
    EXPECT_EQ(data.front(), 3);

    struct {
      unisono_call call;
      uint64_t added;
    } newer = {unisono_call_init(), 0};
    newer.call.size = sizeof newer;
    EXPECT_EQ(allreduce(engine, "newer", data, &newer.call), UNISONO_OK) << unisono_last_error();
    newer.added = 1;
    EXPECT_EQ(allreduce(engine, "newer", data, &newer.call), UNISONO_INVALID_ARGUMENT);

    // Nothing may be read by a size that came from memory nobody filled in.
    for (const std::size_t size : {std::size_t{0}, std::size_t{1} << 40, SIZE_MAX}) {
      unisono_call forgotten = unisono_call_init();
      forgotten.size = size;
      EXPECT_EQ(allreduce(engine, "forgotten", data, &forgotten), UNISONO_INVALID_ARGUMENT);
      EXPECT_NE(std::string(unisono_last_error()).find("unisono_call_init"), std::string::npos);
    }
  });
}

TEST(CApi, NullIsAnErrorEverywhere) {
  EXPECT_EQ(unisono_start(nullptr, nullptr), UNISONO_INVALID_ARGUMENT);
  EXPECT_EQ(unisono_release(nullptr), UNISONO_INVALID_ARGUMENT);
  EXPECT_EQ(unisono_block_data(nullptr), nullptr);
  EXPECT_EQ(unisono_block_size(nullptr), 0U);
  unisono_block_free(nullptr);
  uint64_t count = 0;
  EXPECT_EQ(unisono_stat_count(nullptr, "operations", &count), UNISONO_NOT_INITIALIZED);
  EXPECT_EQ(unisono_switch_order(nullptr, "tree", 0), UNISONO_NOT_INITIALIZED);
  run_c_ranks(kRanks, [](unisono_engine* engine, int) {
    EXPECT_EQ(unisono_switch_order(engine, nullptr, 0), UNISONO_INVALID_ARGUMENT);
    EXPECT_EQ(unisono_arena_allocate(engine, 1, nullptr), UNISONO_INVALID_ARGUMENT);
    EXPECT_EQ(unisono_verdict(engine, nullptr, 0, nullptr), UNISONO_INVALID_ARGUMENT);
    EXPECT_EQ(unisono_explain(engine, nullptr, 0, nullptr), UNISONO_INVALID_ARGUMENT);
    EXPECT_EQ(unisono_stat_count(engine, nullptr, nullptr), UNISONO_INVALID_ARGUMENT);
    EXPECT_EQ(unisono_switch_order(engine, "tree", 0), UNISONO_OK) << unisono_last_error();
  });
}

}  // namespace
}  // namespace unisono::engine
