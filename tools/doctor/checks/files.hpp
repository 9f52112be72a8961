// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Small files of the kernel as text.
#pragma once

#include <fstream>
#include <string>

namespace unisono::tools {

// "" when the file cannot be read. What is read is limited: /proc/self/maps may be long.
inline std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::string text(1 << 18, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace unisono::tools
