// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// An empty folder for the files of one test. Goes away with the object.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace unisono::tools {

class TestFolder {
 public:
  TestFolder() { EXPECT_NE(::mkdtemp(path_.data()), nullptr); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  // Writes a file and returns its path.
  std::string file(const std::string& name, const std::string& text) const {
    const std::string where = path_ + "/" + name;
    std::ofstream(where) << text;
    return where;
  }

 private:
  std::string path_ = testing::TempDir() + "unisono-tools-XXXXXX";
};

inline std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace unisono::tools
