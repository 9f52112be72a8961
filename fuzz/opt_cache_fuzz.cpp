// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The binary cache of samples, read from a file that lies in a folder of the user's. Checksums are
// made right first, as somebody who means harm would: they keep out damage, not strangers.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "base/data/text.hpp"
#include "opt/data/file/cache_format.hpp"
#include "target.hpp"

namespace unisono::fuzz {
namespace {

// A file without a name, which a path leads to all the same.
class Unnamed {
 public:
  explicit Unnamed(std::span<const std::byte> bytes) : file_(::memfd_create("cache", MFD_CLOEXEC)) {
    must(file_ >= 0 && ::write(file_, bytes.data(), bytes.size()) ==
                           static_cast<ssize_t>(bytes.size()), "no file");
  }
  Unnamed(const Unnamed&) = delete;
  Unnamed& operator=(const Unnamed&) = delete;
  ~Unnamed() { ::close(file_); }
  std::string path() const { return cat("/proc/self/fd/", file_); }

 private:
  int file_;
};

Bytes encoded(const opt::CacheHeader& header, const opt::Rows& rows) {
  Bytes out;
  const auto add = [&](const void* data, std::size_t bytes) {
    const auto* const from = static_cast<const std::byte*>(data);
    out.insert(out.end(), from, from + bytes);
  };
  add(&header, sizeof header);
  add(rows.begins.data(), rows.begins.size() * 8);
  add(rows.columns.data(), rows.columns.size() * 4);
  add(rows.values.data(), rows.values.size() * 4);
  add(rows.labels.data(), rows.labels.size() * 4);
  return out;
}

// The checksum of the arrays that the header tells of, as far as they are there.
std::uint64_t checksum_told(const opt::CacheHeader& header, std::span<const std::byte> arrays) {
  std::uint64_t sum = 0;
  const auto add = [&](std::uint64_t count, std::uint64_t size) {
    const std::uint64_t bytes = std::min<std::uint64_t>(count, arrays.size() / size) * size;
    sum = opt::checksum_of(arrays.data(), bytes, sum);
    arrays = arrays.subspan(bytes);
  };
  add(header.rows == UINT64_MAX ? 0 : header.rows + 1, 8);
  add(header.nonzeros, 4);
  add(header.nonzeros, 4);
  add(header.rows, 4);
  return sum;
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  Choices choices(bytes);
  const bool repaired = choices.below(4) != 0;
  Bytes file(choices.rest().begin(), choices.rest().end());
  opt::CacheHeader header;
  opt::FileStamp source;
  opt::Part part;
  if (repaired && file.size() >= sizeof header) {
    std::memcpy(&header, file.data(), sizeof header);
    header.magic = opt::kCacheMagic;
    header.version = opt::kCacheVersion;
    header.part = 0;
    header.parts = 1;
    header.payload = checksum_told(header, std::span(file).subspan(sizeof header));
    header.header = opt::own_checksum(header);
    std::memcpy(file.data(), &header, sizeof header);
    source = header.source;
  }
  const Unnamed cache(file);
  const auto rows = opt::read_cache(cache.path(), source, part);
  if (!rows.ok()) return;
  std::memcpy(&header, file.data(), sizeof header);
  must(encoded(header, rows.value()) == file, "a cache reads as another than it is");
  for (std::size_t i = 0; i < rows.value().size(); ++i) {
    std::uint64_t next = 0;
    for (const std::uint32_t column : rows.value().row(i).columns) {
      must(column >= next && column < rows.value().width, "columns do not ascend");
      next = std::uint64_t{column} + 1;
    }
  }
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> all;
  opt::Rows rows;
  for (int count = 0; count < 3; ++count) {
    opt::CacheHeader header;
    header.parts = 1;
    header.rows = rows.size();
    header.nonzeros = rows.nonzeros();
    header.width = rows.width;
    header.payload = opt::payload_checksum(rows);
    header.header = opt::own_checksum(header);
    all.push_back(chosen(1, encoded(header, rows)));
    rows.columns.insert(rows.columns.end(), {0, 7});
    rows.values.insert(rows.values.end(), {1, -2.5f});
    rows.labels.push_back(count == 0 ? 1.0f : -1.0f);
    rows.begins.push_back(rows.nonzeros());
    rows.width = 8;
  }
  return all;
}

}  // namespace unisono::fuzz
