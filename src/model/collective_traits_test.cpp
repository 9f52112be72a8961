// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/collective_traits.hpp"

#include <gtest/gtest.h>

#include <set>

namespace unisono {
namespace {

TEST(CollectiveTraits, EveryKindHasARowAndANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const CollectiveTraits& row : kCollectives) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(&traits_of(row.kind), &row);
    EXPECT_EQ(name_of(row.kind), row.name);
  }
}

TEST(CollectiveTraits, ANumberThatIsNoKindHasNoTraits) {
  const auto none = static_cast<Collective>(kCollectives.size());
  EXPECT_FALSE(known(none));
  EXPECT_FALSE(traits_of(none).moves);
  EXPECT_EQ(name_of(none), "unknown");
}

TEST(CollectiveTraits, RowsDoNotContradictThemselves) {
  for (const CollectiveTraits& row : kCollectives) {
    EXPECT_FALSE(row.same_shape && row.free_rows) << row.name;
    EXPECT_EQ(row.carries_data, row.same_shape || row.free_rows) << row.name;
    EXPECT_LE(row.reduces, row.carries_data) << row.name;
    EXPECT_LE(row.encodes, row.reduces) << row.name;
    EXPECT_LE(row.fuses, row.moves && row.same_shape) << row.name;
    EXPECT_LE(row.free_rows, row.divides_rows) << row.name;
    EXPECT_FALSE(row.opens_team && row.moves) << row.name;
    EXPECT_LE(row.sparse, row.moves && row.reduces && row.same_shape && !row.fuses) << row.name;
  }
}

}  // namespace
}  // namespace unisono
