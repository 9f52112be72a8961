// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Rows of one part of a text file in binary, so that they are parsed once. A cache is refused when
// the text file is not the one it was made of, when it holds another part, or when its checksum is
// wrong. Written beside and renamed, so that a torn one is never read. The file is for machines of
// one byte order, which its first number tells. Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "opt/data/rows.hpp"
#include "opt/data/file/text_file.hpp"
#include "unisono/status.hpp"

namespace unisono::opt {

// Tells a file from others and from itself at another time: size, time of change, both its ends.
struct FileStamp {
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;
  std::uint64_t ends = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
Result<FileStamp> stamp_of(const std::string& path);

// Where the part of a rank lies: PATH.0-of-4.
std::string cache_path(const std::string& path, Part part);

Status write_cache(const std::string& path, const FileStamp& source, Part part, const Rows& rows);
// unavailable: there is none; mismatch: of another file or part; corrupted: damaged.
Result<Rows> read_cache(const std::string& path, const FileStamp& source, Part part);

}  // namespace unisono::opt
