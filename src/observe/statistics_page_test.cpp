// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// docs/STATISTICS.md ends with the table of stats_table.h; `make docs` writes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/data/text.hpp"
#include "base/testing/source_tree.hpp"
#include "unisono/stats_table.h"

namespace unisono::observe {
namespace {

std::string table() {
  std::string text = "| name | what it counts |\n| --- | --- |\n";
#define UNISONO_ROW(name, about) text += cat("| `" #name "` | ", about, " |\n");
#define UNISONO_ROW_S(name, about) text += cat("| `" #name "_s` | ", about, " |\n");
  UNISONO_STATS(UNISONO_ROW, UNISONO_ROW_S, UNISONO_ROW, UNISONO_ROW)
#undef UNISONO_ROW
#undef UNISONO_ROW_S
  return text;
}

TEST(Statistics, ThePageEndsWithTheTable) {
  const auto path = in_source_tree("docs/STATISTICS.md");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no source tree here: " << path;
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (std::getenv("UNISONO_UPDATE_DOCS") != nullptr) {
    text = text.substr(0, text.find("| name |")) + table();
    std::ofstream(path) << text;
  }
  EXPECT_THAT(text, testing::EndsWith(table())) << "run: make docs";
}

}  // namespace
}  // namespace unisono::observe
