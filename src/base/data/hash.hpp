// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Fast non-cryptographic hashing (XXH3): frame checks, option and plan agreement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace unisono {

std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed = 0);
std::uint64_t hash_text(std::string_view text, std::uint64_t seed = 0);

}  // namespace unisono
