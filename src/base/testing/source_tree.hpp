// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Where the source tree is, for tests that compare documents with tables of the code.
#pragma once

#include <filesystem>
#include <string_view>

namespace unisono {

// A file of the tree this test runs in, by its path there; relative as it is when there is none.
// Compilers may know their files by paths relative to the build, so the working directory says it.
inline std::filesystem::path in_source_tree(std::string_view path) {
  for (auto folder = std::filesystem::current_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (std::filesystem::exists(folder / "include/unisono/unisono.hpp")) return folder / path;
  }
  return path;
}

}  // namespace unisono
