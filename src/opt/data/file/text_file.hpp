// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The text of a file, or of one of equal parts of it by bytes: plain files are mapped, those of
// gzip are unpacked (all of it, twice where there are several parts, since nobody knows how long
// the text is before its end). Lines are cut once. Thread: any, each object by one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "unisono/status.hpp"

namespace unisono::opt {

// One of `count` parts of a file.
struct Part {
  int index = 0;
  int count = 1;
};

struct Text {
  std::string_view lines;                   // those that begin in the part
  std::uint64_t offset = 0;                 // of the first in the text of the file
  std::shared_ptr<const void> memory;       // what `lines` looks at
};

// Told now and then while a file is read: how much of what is being done is done, from 0 to 1, and
// what that is. Called by the thread that asked for the file.
using ReadProgress = std::function<void(double done, std::string_view doing)>;

Result<Text> text_of_part(const std::string& path, Part part, const ReadProgress& progress = {});

// Which line of the file, from 1, begins at an offset of its text. Reads all that comes before.
Result<std::uint64_t> line_at(const std::string& path, std::uint64_t offset);

// Whether this build can unpack gzip.
bool can_unpack();

}  // namespace unisono::opt
