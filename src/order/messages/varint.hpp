// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Small numbers in few bytes: seven bits a byte, the lowest first; the top bit says that more
// follow.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/data/bytes.hpp"

namespace unisono::order {

inline void put_varint(ByteWriter& out, std::uint64_t value) {
  for (; value >= 128; value >>= 7) out.put(static_cast<std::uint8_t>(value | 128));
  out.put(static_cast<std::uint8_t>(value));
}

inline std::uint64_t get_varint(ByteReader& in) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = in.get<std::uint8_t>();
    value |= static_cast<std::uint64_t>(byte & 127) << shift;
    if (byte < 128) return value;
  }
  in.fail();
  return 0;
}

// Text with a short length in front; reading returns a view into the message.
inline void put_short_text(ByteWriter& out, std::string_view text) {
  put_varint(out, text.size());
  out.put_raw(std::as_bytes(std::span(text)));
}

inline std::string_view get_short_text(ByteReader& in) {
  const auto raw = in.get_raw(get_varint(in));
  return {reinterpret_cast<const char*>(raw.data()), raw.size()};
}

}  // namespace unisono::order
