// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which numbers the stages of a codec may have. Pure; thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "unisono/codec.hpp"

namespace unisono {

inline constexpr std::uint32_t kCodecBucketMax = 4096;  // elements that a few are picked of
inline constexpr std::uint32_t kCodecRankMax = 64;

struct WrongNumber {
  std::string_view stage;                   // its word in the text
  std::string why, mend;
};
std::optional<WrongNumber> wrong_number(const CodecSpec& spec);

}  // namespace unisono
