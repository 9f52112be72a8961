// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/settings.hpp"

#include <gtest/gtest.h>

#include <set>

namespace unisono::tools {
namespace {

TEST(BenchWork, BytesAreRoundedUpToWholeElements) {
  EXPECT_EQ(work_for(Collective::allreduce, DType::f32, 5, 3).elements, 2);
  EXPECT_EQ(work_for(Collective::allreduce, DType::f32, 5, 3).bytes(), 8);
  EXPECT_EQ(work_for(Collective::broadcast, DType::f64, 1, 3).bytes(), 8);
  EXPECT_EQ(work_for(Collective::allgather, DType::bf16, 16, 3).elements, 8);
}

TEST(BenchWork, WhereEachRankGetsAPartThePartsAreEqual) {
  for (const Collective kind : {Collective::reducescatter, Collective::alltoall}) {
    EXPECT_EQ(work_for(kind, DType::f32, 1, 3).elements, 3);
    EXPECT_EQ(work_for(kind, DType::f32, 16, 3).elements, 6);
    EXPECT_EQ(work_for(kind, DType::f32, 24, 3).elements, 6);
    EXPECT_EQ(work_for(kind, DType::f32, 16, 1).elements, 4);
  }
}

TEST(BenchWork, EveryElementTypeHasANameOfItsOwnThatIsReadBack) {
  std::set<std::string_view> names;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::string_view name = bench_name(dtype);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_TRUE(dtype_from(name) == dtype) << name;
  }
  EXPECT_EQ(bench_name(DType::f32), "fp32");
  EXPECT_EQ(bench_name(DType::i8), "int8");
}

}  // namespace
}  // namespace unisono::tools
