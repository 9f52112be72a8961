// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/options/registry.hpp"

#include <gtest/gtest.h>

#include <array>

#include "model/options/choices.hpp"

namespace unisono {
namespace {

int one() { return 1; }
int two() { return 2; }

constexpr OptionChoice kSome[] = {
    {"auto", "whatever fits"}, {"first", "the 1st"}, {"second", "the 2nd"}};
constexpr std::array kRows = {registry_row(kSome, "first", one),
                              registry_row(kSome, "second", two)};
constexpr std::array kOne = {registry_row(kSome, "first", one)};
static_assert(all_have_rows(kSome, kRows));
static_assert(!all_have_rows(kSome, kOne), "a choice without a row is noticed");

TEST(Registry, ARowHasTheWordsOfItsChoiceAndMakesItsPart) {
  const auto* row = find_row(kRows, "second");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->about, "the 2nd");
  EXPECT_EQ(row->make(), 2);
}

TEST(Registry, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(find_row(kRows, "third"), nullptr);
  EXPECT_EQ(find_row(kRows, "auto"), nullptr);
  EXPECT_EQ(find_row(kRows, ""), nullptr);
}

TEST(Choices, EveryOneIsAllowedAndNothingElse) {
  for (const OptionRow& row : option_table()) {
    if (row.kind.form != OptionForm::choice && row.kind.form != OptionForm::choices) {
      EXPECT_TRUE(row.kind.choices.empty()) << row.key;
      continue;
    }
    ASSERT_FALSE(row.kind.choices.empty()) << row.key;
    for (const OptionChoice& choice : row.kind.choices) {
      Options options;
      EXPECT_TRUE(options.set(row.key, choice.name).ok()) << row.key << "=" << choice.name;
      EXPECT_EQ(options.get(row.key), choice.name);
    }
    Options options;
    EXPECT_FALSE(options.set(row.key, "").ok()) << row.key;
    EXPECT_FALSE(options.set(row.key, "nothing of the kind").ok()) << row.key;
  }
}

TEST(Choices, KindsHaveAText) {
  EXPECT_EQ(kind_text({OptionForm::choice, kSome}), "one of auto|first|second");
  EXPECT_EQ(kind_text({OptionForm::count, {}, 2}), "a count from 2");
  EXPECT_EQ(kind_text({OptionForm::bytes}), "bytes");
  EXPECT_EQ(kind_text({OptionForm::choices, kSome}), "a list of auto|first|second");
}

TEST(Choices, AListMayNameSeveral) {
  Options options;
  EXPECT_EQ(options.plan_codecs, "none");
  EXPECT_TRUE(options.set("plan-codecs", "fp16, bf16").ok());
  EXPECT_EQ(options.get("plan_codecs"), "fp16, bf16");
  EXPECT_TRUE(options.validate().ok());
  EXPECT_TRUE(options.set("plan_codecs", "bf16,qsgd:4").ok());
  EXPECT_FALSE(options.set("plan_codecs", "ef|topk:512:4").ok());
  EXPECT_FALSE(options.set("plan_codecs", "fp16,").ok());
  EXPECT_FALSE(options.set("plan_codecs", "fp16,morse").ok());
}

}  // namespace
}  // namespace unisono
