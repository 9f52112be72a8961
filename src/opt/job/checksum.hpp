// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The checksum of files that are written here: XXH3. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace unisono::opt {

std::uint64_t checksum_of(const void* data, std::size_t bytes, std::uint64_t seed);

}  // namespace unisono::opt
