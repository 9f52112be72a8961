// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Sparse collectives as a C program uses them, with three ranks as threads.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/c_api/c_ranks.hpp"
#include "unisono/unisono.h"

namespace unisono::engine {
namespace {

TEST(CSparse, TwoCallsFetchTheResult) {
  run_c_ranks(3, [](unisono_engine* engine, int rank) {
    const int32_t indices[] = {900, 10 + rank};
    const float values[] = {1, 2};
    unisono_call call = unisono_call_init();
    call.op = UNISONO_SUM;
    unisono_sparse_call sparse = unisono_sparse_call_init();
    sparse.algorithm = "ssar_split_allgather";
    unisono_ticket* ticket = nullptr;
    ASSERT_EQ(unisono_sparse_allreduce(engine, "x", UNISONO_F32, 1000, 2, UNISONO_I32, indices,
                                       values, &call, &sparse, &ticket),
              UNISONO_OK) << unisono_last_error();
    ASSERT_EQ(unisono_wait(ticket, -1), UNISONO_OK) << unisono_last_error();
    size_t count = 0;
    int dense = -1;
    ASSERT_EQ(unisono_sparse_count(ticket, &count, &dense), UNISONO_OK);
    ASSERT_EQ(count, 4u);
    EXPECT_EQ(dense, 0);
    EXPECT_STREQ(unisono_sparse_algorithm(ticket), "ssar_split_allgather");
    std::vector<int64_t> at(count);
    std::vector<float> sums(count);
    EXPECT_EQ(unisono_sparse_copy(ticket, at.data(), sums.data(), 3), UNISONO_INVALID_ARGUMENT);
    EXPECT_NE(std::string(unisono_last_error()).find("room for 3"), std::string::npos);
    ASSERT_EQ(unisono_sparse_copy(ticket, at.data(), sums.data(), count), UNISONO_OK);
    EXPECT_EQ(at, (std::vector<int64_t>{10, 11, 12, 900}));
    EXPECT_EQ(sums, (std::vector<float>{2, 2, 2, 3}));
    unisono_ticket_free(ticket);
  });
}

TEST(CSparse, GathersWhatOneRankAloneHas) {
  run_c_ranks(3, [](unisono_engine* engine, int rank) {
    const uint64_t index = 7;
    const double value = 5;
    unisono_sparse_call sparse = unisono_sparse_call_init();
    sparse.refuse_overlap = 1;
    unisono_ticket* ticket = nullptr;
    ASSERT_EQ(unisono_sparse_allgather(engine, "x", UNISONO_F64, 100, rank == 1 ? 1 : 0,
                                       UNISONO_U64, &index, &value, nullptr, &sparse, &ticket),
              UNISONO_OK) << unisono_last_error();
    ASSERT_EQ(unisono_wait(ticket, -1), UNISONO_OK) << unisono_last_error();
    size_t count = 0;
    ASSERT_EQ(unisono_sparse_count(ticket, &count, nullptr), UNISONO_OK);
    EXPECT_EQ(count, 1u);
    unisono_ticket_free(ticket);
  });
}

TEST(CSparse, OperatorsOfTheCaller) {
  run_c_ranks(3, [](unisono_engine* engine, int rank) {
    const int32_t index = 6;
    const int64_t value = int64_t{1} << rank;
    const unisono_sparse_operator exclusive_or = {
        "exclusive or",
        [](void* into, const void* other, size_t count, void*) {
          for (size_t i = 0; i < count; ++i) {
            static_cast<int64_t*>(into)[i] ^= static_cast<const int64_t*>(other)[i];
          }
        },
        [](void* out, size_t count, void*) {
          for (size_t i = 0; i < count; ++i) static_cast<int64_t*>(out)[i] = 0;
        },
        nullptr};
    unisono_sparse_call sparse = unisono_sparse_call_init();
    sparse.user_operator = &exclusive_or;
    unisono_ticket* ticket = nullptr;
    ASSERT_EQ(unisono_sparse_allreduce(engine, "x", UNISONO_I64, 1000, 1, UNISONO_I32, &index,
                                       &value, nullptr, &sparse, &ticket),
              UNISONO_OK) << unisono_last_error();
    ASSERT_EQ(unisono_wait(ticket, -1), UNISONO_OK) << unisono_last_error();
    size_t count = 0;
    ASSERT_EQ(unisono_sparse_count(ticket, &count, nullptr), UNISONO_OK);
    std::vector<int64_t> at(count), values(count);
    ASSERT_EQ(unisono_sparse_copy(ticket, at.data(), values.data(), count), UNISONO_OK);
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(values[i], at[i] == 6 ? 7 : 0);
    EXPECT_GT(count, 0u);
    unisono_ticket_free(ticket);
  });
}

TEST(CSparse, SaysWhatIsWrong) {
  run_c_ranks(3, [](unisono_engine* engine, int) {
    const int32_t index = 5;
    const float value = 1;
    unisono_ticket* ticket = nullptr;
    const auto refused = [&](const char* name, int64_t length, unisono_dtype index_dtype,
                             const unisono_call* call, const unisono_sparse_call* sparse) {
      EXPECT_EQ(unisono_sparse_allreduce(engine, name, UNISONO_F32, length, 1, index_dtype, &index,
                                         &value, call, sparse, &ticket),
                UNISONO_INVALID_ARGUMENT);
      EXPECT_EQ(ticket, nullptr);
      return std::string(unisono_last_error());
    };
    EXPECT_NE(refused(nullptr, 9, UNISONO_I32, nullptr, nullptr).find("name"), std::string::npos);
    EXPECT_NE(refused("x", 4, UNISONO_I32, nullptr, nullptr).find("index 5"), std::string::npos);
    EXPECT_NE(refused("x", 9, UNISONO_F32, nullptr, nullptr).find("float32"), std::string::npos);
    unisono_call call = unisono_call_init();
    call.codec = "fp16";
    EXPECT_NE(refused("x", 9, UNISONO_I32, &call, nullptr).find("codec"), std::string::npos);
    unisono_sparse_call sparse = unisono_sparse_call_init();
    sparse.algorithm = "none such";
    EXPECT_NE(refused("x", 9, UNISONO_I32, nullptr, &sparse).find("none such"), std::string::npos);
    sparse.size = 1;
    EXPECT_NE(refused("x", 9, UNISONO_I32, nullptr, &sparse).find("size"), std::string::npos);
    EXPECT_EQ(unisono_sparse_count(nullptr, nullptr, nullptr), UNISONO_INVALID_ARGUMENT);
    EXPECT_STREQ(unisono_sparse_algorithm(nullptr), "");
  });
}

}  // namespace
}  // namespace unisono::engine
