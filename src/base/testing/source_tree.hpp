// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Where the source tree is, for tests that compare documents with tables of the code.
#pragma once

#include <filesystem>
#include <string_view>

namespace unisono {

// Returns the path of a file in the source tree this test runs in; `path` itself when there is no
// tree. __FILE__ may be relative to the build folder, so the tree is found from the working
// directory.
inline std::filesystem::path in_source_tree(std::string_view path) {
  for (auto folder = std::filesystem::current_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (std::filesystem::exists(folder / "include/unisono/unisono.hpp")) return folder / path;
  }
  return path;
}

}  // namespace unisono
