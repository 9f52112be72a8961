// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The bytes of a cache: this header, then begins, columns, values and labels of the rows, one array
// after the other. Numbers are in the byte order of the machine. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "opt/data/file/cache.hpp"
#include "opt/data/rows.hpp"
#include "opt/job/checksum.hpp"

namespace unisono::opt {

inline constexpr std::uint64_t kCacheMagic = 0x31534F52534E55ull;  // "UNSROS1", or backwards
inline constexpr std::uint64_t kCacheVersion = 1;

struct CacheHeader {
  std::uint64_t magic = kCacheMagic, version = kCacheVersion;
  FileStamp source;
  std::uint64_t part = 0, parts = 0, rows = 0, nonzeros = 0, width = 0;
  std::uint64_t payload = 0;                // checksum of what follows
  std::uint64_t header = 0;                 // checksum of all above
};
static_assert(std::is_trivially_copyable_v<CacheHeader>);

inline std::uint64_t own_checksum(const CacheHeader& header) {
  return checksum_of(&header, offsetof(CacheHeader, header), 0);
}

inline std::uint64_t payload_checksum(const Rows& rows) {
  std::uint64_t sum = checksum_of(rows.begins.data(), rows.begins.size() * 8, 0);
  sum = checksum_of(rows.columns.data(), rows.columns.size() * 4, sum);
  sum = checksum_of(rows.values.data(), rows.values.size() * 4, sum);
  return checksum_of(rows.labels.data(), rows.labels.size() * 4, sum);
}

}  // namespace unisono::opt
