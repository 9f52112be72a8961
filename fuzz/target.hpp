// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A fuzz target: one parser of bytes that others wrote, and valid encodings as seeds.
// Each *_fuzz.cpp defines seeds() and take_apart(); main.cpp hands them to libFuzzer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/bytes.hpp"

namespace unisono::fuzz {

using Bytes = std::vector<std::byte>;

// Written into fuzz/corpus by scripts/fuzz --seeds.
std::vector<Bytes> seeds();
// Must return, whatever the bytes are.
void take_apart(std::span<const std::byte> bytes);

inline void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline Bytes bytes_of(std::string_view text) {
  const auto raw = std::as_bytes(std::span(text));
  return {raw.begin(), raw.end()};
}

// Puts a byte in front that chooses which parser gets the rest.
inline Bytes chosen(std::uint8_t choice, std::span<const std::byte> rest) {
  Bytes bytes{std::byte{choice}};
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  return bytes;
}

// Reads small numbers from the front; returns zeros when no bytes are left.
class Choices {
 public:
  explicit Choices(std::span<const std::byte> bytes) : rest_(bytes) {}
  unsigned below(unsigned limit) { return byte() % limit; }
  unsigned byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<unsigned>(rest_.front());
    rest_ = rest_.subspan(1);
    return value;
  }
  std::span<const std::byte> take(std::size_t most) {
    const auto taken = rest_.first(std::min(most, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  std::span<const std::byte> rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

// Damages a message as two bytes of the input say: where, and which bits. No bits: no damage.
inline bool damage(Bytes& message, Choices& choices) {
  const unsigned at = choices.byte(), bits = choices.byte();
  if (message.empty() || bits == 0) return false;
  message[at % message.size()] ^= static_cast<std::byte>(bits);
  return true;
}

}  // namespace unisono::fuzz
