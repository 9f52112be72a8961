// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/job/checksum.hpp"

#include <xxhash.h>

namespace unisono::opt {

std::uint64_t checksum_of(const void* data, std::size_t bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

}  // namespace unisono::opt
