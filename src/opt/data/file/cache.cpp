// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/data/file/cache.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "opt/data/file/cache_format.hpp"
#include "opt/job/checksum.hpp"
#include "opt/job/text.hpp"

namespace unisono::opt {
namespace {

class File {
 public:
  File(const std::string& path, int flags)
      : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

  bool read(void* to, std::size_t bytes) {
    return whole(bytes, [&](std::size_t at) {
      return ::read(descriptor_, static_cast<char*>(to) + at, bytes - at);
    });
  }
  bool write(const void* from, std::size_t bytes) {
    return whole(bytes, [&](std::size_t at) {
      return ::write(descriptor_, static_cast<const char*>(from) + at, bytes - at);
    });
  }

 private:
  template <typename Move>
  static bool whole(std::size_t bytes, const Move& move) {
    for (std::size_t at = 0; at < bytes;) {
      const ssize_t moved = move(at);
      if (moved < 0 && errno == EINTR) continue;
      if (moved <= 0) return false;
      at += static_cast<std::size_t>(moved);
    }
    return true;
  }
  int descriptor_;
};

bool ascends_below(std::span<const std::uint32_t> columns, std::uint32_t width) {
  const auto not_above = [](std::uint32_t a, std::uint32_t b) { return a >= b; };
  return std::adjacent_find(columns.begin(), columns.end(), not_above) == columns.end() &&
         (columns.empty() || columns.back() < width);
}

// A checksum tells of damage, not of who wrote the file.
Status check_shape(const Rows& rows, const std::string& path) {
  bool fits = rows.begins.front() == 0 && rows.begins.back() == rows.columns.size() &&
              std::is_sorted(rows.begins.begin(), rows.begins.end());
  for (std::size_t i = 0; fits && i < rows.size(); ++i) {
    fits = ascends_below(rows.row(i).columns, rows.width);
  }
  const auto finite = [](float value) { return std::isfinite(value); };
  fits = fits && std::all_of(rows.values.begin(), rows.values.end(), finite) &&
         std::all_of(rows.labels.begin(), rows.labels.end(), finite);
  return fits ? Status() : Status(Code::corrupted, text_of(path, ": its rows do not fit together"));
}

}  // namespace

Result<FileStamp> stamp_of(const std::string& path) {
  File file(path, O_RDONLY);
  struct stat about {};
  if (file.get() < 0 || ::fstat(file.get(), &about) != 0) {
    return wrong(path, ": cannot be read: ", std::strerror(errno));
  }
  FileStamp stamp;
  stamp.bytes = static_cast<std::uint64_t>(about.st_size);
  stamp.changed_ns = about.st_mtim.tv_sec * 1'000'000'000ll + about.st_mtim.tv_nsec;
  std::array<char, 65536> end;
  for (const off_t at : {off_t{0}, std::max(off_t{0}, about.st_size - off_t{65536})}) {
    const ssize_t got = ::pread(file.get(), end.data(), end.size(), at);
    if (got < 0) return wrong(path, ": cannot be read: ", std::strerror(errno));
    stamp.ends = checksum_of(end.data(), static_cast<std::size_t>(got), stamp.ends);
  }
  return stamp;
}

std::string cache_path(const std::string& path, Part part) {
  return text_of(path, ".", part.index, "-of-", part.count);
}

Status write_cache(const std::string& path, const FileStamp& source, Part part, const Rows& rows) {
  CacheHeader header;
  header.source = source;
  header.part = static_cast<std::uint64_t>(part.index);
  header.parts = static_cast<std::uint64_t>(part.count);
  header.rows = rows.size();
  header.nonzeros = rows.nonzeros();
  header.width = rows.width;
  header.payload = payload_checksum(rows);
  header.header = own_checksum(header);
  const std::string beside = text_of(path, ".", ::getpid(), ".tmp");
  bool written = false;
  {
    File file(beside, O_WRONLY | O_CREAT | O_TRUNC);
    written = file.get() >= 0 && file.write(&header, sizeof header) &&
              file.write(rows.begins.data(), rows.begins.size() * 8) &&
              file.write(rows.columns.data(), rows.columns.size() * 4) &&
              file.write(rows.values.data(), rows.values.size() * 4) &&
              file.write(rows.labels.data(), rows.labels.size() * 4);
  }
  if (written && ::rename(beside.c_str(), path.c_str()) == 0) return {};
  const Status bad = wrong(path, ": the cache cannot be written: ", std::strerror(errno));
  ::unlink(beside.c_str());
  return bad;
}

Result<Rows> read_cache(const std::string& path, const FileStamp& source, Part part) {
  File file(path, O_RDONLY);
  if (file.get() < 0) return Status(Code::unavailable, text_of(path, ": ", std::strerror(errno)));
  struct stat about {};
  CacheHeader header;
  if (::fstat(file.get(), &about) != 0 || !file.read(&header, sizeof header) ||
      header.magic != kCacheMagic || header.version != kCacheVersion ||
      header.header != own_checksum(header)) {
    return Status(Code::corrupted, text_of(path, ": this is no cache, or a damaged one"));
  }
  if (header.source != source) {
    return Status(Code::mismatch,
                  text_of(path, ": the cache is of another file, or of an older one"));
  }
  if (header.part != static_cast<std::uint64_t>(part.index) ||
      header.parts != static_cast<std::uint64_t>(part.count)) {
    return Status(Code::mismatch, text_of(path, ": the cache holds part ", header.part, " of ",
                                          header.parts));
  }
  // Compared one by one first, because their sum may not fit into 64 bits.
  const auto bytes = static_cast<std::uint64_t>(about.st_size);
  if (header.rows > bytes / 12 || header.nonzeros > bytes / 8 || header.width > UINT32_MAX ||
      bytes != sizeof header + 8 + header.rows * 12 + header.nonzeros * 8) {
    return Status(Code::corrupted,
                  text_of(path, ": the cache has ", bytes, " bytes, which are not those of ",
                          header.rows, " rows with ", header.nonzeros, " entries"));
  }
  Rows rows;
  rows.width = static_cast<std::uint32_t>(header.width);
  rows.begins.resize(header.rows + 1);
  rows.columns.resize(header.nonzeros);
  rows.values.resize(header.nonzeros);
  rows.labels.resize(header.rows);
  if (!file.read(rows.begins.data(), rows.begins.size() * 8) ||
      !file.read(rows.columns.data(), rows.columns.size() * 4) ||
      !file.read(rows.values.data(), rows.values.size() * 4) ||
      !file.read(rows.labels.data(), rows.labels.size() * 4)) {
    return Status(Code::corrupted, text_of(path, ": the cache is cut off"));
  }
  if (payload_checksum(rows) != header.payload) {
    return Status(Code::corrupted, text_of(path, ": the checksum of the cache is wrong"));
  }
  if (Status bad = check_shape(rows, path); !bad.ok()) return bad;
  return rows;
}

}  // namespace unisono::opt
