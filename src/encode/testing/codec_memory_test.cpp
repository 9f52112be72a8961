// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "encode/feedback/codec_memory.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace unisono::encode {
namespace {

using Claims = std::vector<CodecMemory::Claim>;

Claims claim(CodecMemory& memory, const std::string& name, std::vector<float> residual) {
  Claims claims{memory.claim(name)};
  claims.front().memory->residual = std::move(residual);
  return claims;
}

void keep(CodecMemory& memory, const std::string& name, std::vector<float> residual) {
  const Claims claims = claim(memory, name, std::move(residual));
  memory.note({.codec = "ef|qsgd:4", .tensors = 1, .bytes = 8}, claims);
  memory.give_back(claims);
}

TEST(CodecMemory, WhatIsClaimedKeepsNobodyElseFromAnything) {
  CodecMemory memory;
  keep(memory, "a", {3, 0});
  const Claims busy = claim(memory, "a", {100, 100});
  keep(memory, "b", {0, 4});                // of another channel, meanwhile
  const auto reports = memory.reports();
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].tensors, 2U);
  EXPECT_DOUBLE_EQ(reports[0].residual_norm, 4) << "what is in the making is nobody's to read";
  memory.give_back(busy);
  EXPECT_DOUBLE_EQ(memory.reports()[0].residual_norm, std::hypot(100, 100, 4));
  const Claims again = claim(memory, "a", {7, 7});
  EXPECT_DOUBLE_EQ(memory.reports()[0].residual_norm, std::hypot(100, 100, 4)) << "as it was last";
  memory.give_back(again);
}

TEST(CodecMemory, TheSecondOfOneNameHasItsOwn) {
  CodecMemory memory;
  const Claims first = claim(memory, "a", {1}), second = claim(memory, "a", {2});
  EXPECT_NE(first.front().memory, second.front().memory);
  EXPECT_EQ(first.front().memory->residual, std::vector<float>{1});
  memory.give_back(first);
  memory.give_back(second);
}

TEST(CodecMemory, IsNotSavedNorLoadedWhileSomethingIsClaimed) {
  CodecMemory memory;
  keep(memory, "a", {1});
  const auto state = memory.save();
  ASSERT_TRUE(state.ok());
  const Claims busy = claim(memory, "a", {2});
  EXPECT_EQ(memory.save().status().code(), Code::invalid_argument);
  EXPECT_EQ(memory.load(state.value()).code(), Code::invalid_argument);
  EXPECT_EQ(memory.flush("a").status().code(), Code::invalid_argument);
  EXPECT_FALSE(memory.load(state.value(), {.tensors = {"a"}}).ok());
  EXPECT_FALSE(memory.save({.tensors = {"a"}}).ok());
  EXPECT_TRUE(memory.load(state.value(), {.tensors = {"b"}}).ok());
  memory.give_back(busy);
  EXPECT_TRUE(memory.load(state.value()).ok());
  EXPECT_EQ(memory.flush("a").value(), std::vector<float>{1});
}

TEST(CodecMemory, TensorsOfASetGoWithIt) {
  CodecMemory memory;
  keep(memory, kept_name(0, "a"), {1});
  keep(memory, kept_name(1, "a"), {2});
  keep(memory, kept_name(12, "a"), {4});
  const Claims busy = claim(memory, kept_name(1, "b"), {9});
  memory.note({.codec = "ef|qsgd:4"}, busy);
  memory.forget_set(1);
  memory.give_back(busy);                   // its bucket failed with the set
  EXPECT_DOUBLE_EQ(memory.reports()[0].residual_norm, std::hypot(1, 4));
  Feedback kept;
  ASSERT_TRUE(kept.load(memory.save().value()).ok());
  EXPECT_EQ(kept.tensors(), 2U);
  memory.forget_set(0);                     // the world is no set that goes
  EXPECT_DOUBLE_EQ(memory.reports()[0].residual_norm, std::hypot(1, 4));
}

TEST(CodecMemory, SomeTensorsAreSavedAndLoadedWithoutTheOthers) {
  CodecMemory memory;
  for (const char* name : {"a", "a/part.0", "a/part.1", "ab", "b"}) keep(memory, name, {1});
  keep(memory, kept_name(3, "a"), {1});
  const CodecPart part{.tensors = {"a"}};
  const auto state = memory.save(part);
  ASSERT_TRUE(state.ok());
  Feedback kept;
  ASSERT_TRUE(kept.load(state.value()).ok());
  EXPECT_EQ(kept.names(""), (std::vector<std::string>{"a", "a/part.0", "a/part.1"}));
  for (const char* name : {"a", "a/part.2", "b"}) keep(memory, name, {5});
  ASSERT_TRUE(memory.load(state.value(), part).ok());
  EXPECT_EQ(memory.flush("a").value(), std::vector<float>{1});
  EXPECT_EQ(memory.flush("a/part.2").value(), std::vector<float>{}) << "the state does not have it";
  EXPECT_EQ(memory.flush("b").value(), std::vector<float>{5}) << "another's";
  EXPECT_EQ(memory.flush(kept_name(3, "a")).value(), std::vector<float>{1}) << "another set's";
  EXPECT_FALSE(memory.load({}, part).ok());
}

TEST(CodecMemory, WhatIsSharedLeavesARanksOwnAlone) {
  CodecMemory root, other;
  const auto fill = [](CodecMemory& memory, const char* name, float value, std::uint32_t steps) {
    const Claims claims = claim(memory, name, {value});
    claims.front().memory->factor = {value};
    claims.front().memory->steps = steps;
    memory.give_back(claims);
  };
  fill(root, "a", 1, 7);
  fill(other, "a", 2, 3);
  fill(other, "b", 2, 3);
  fill(other, "c", 2, 3);
  const CodecPart part{.tensors = {"a", "b"}, .shared = true};
  ASSERT_TRUE(other.load(root.save(part).value(), part).ok());
  Feedback kept;
  ASSERT_TRUE(kept.load(other.save().value()).ok());
  EXPECT_EQ(*kept.find("a"), (TensorMemory{.residual = {2}, .factor = {1}, .steps = 7}));
  EXPECT_EQ(*kept.find("b"), (TensorMemory{.residual = {2}, .steps = 0}));
  EXPECT_EQ(*kept.find("c"), (TensorMemory{.residual = {2}, .factor = {2}, .steps = 3}));
}

}  // namespace
}  // namespace unisono::encode
