// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Writing and reading wire formats: little-endian, length-prefixed, bounds-checked.
// A Reader never reads past its end: after the first bad read ok() is false and every further
// read returns zero or empty, so a parser checks once at the end.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace unisono {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

class ByteWriter {
 public:
  template <typename T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void put(T value) {
    put_raw(std::as_bytes(std::span(&value, 1)));
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    put_raw(std::as_bytes(std::span(text)));
  }
  void put_raw(std::span<const std::byte> raw) {
    // Not insert(): with constant sizes GCC 12 warns of an overflow that is not there.
    const std::size_t at = bytes_.size();
    bytes_.resize(at + raw.size());
    if (!raw.empty()) std::memcpy(bytes_.data() + at, raw.data(), raw.size());
  }
  template <typename T>
  void put_list(const std::vector<T>& items) {
    put(static_cast<std::uint32_t>(items.size()));
    for (const T& item : items) put(item);
  }
  std::size_t size() const { return bytes_.size(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  T get() {
    T value{};
    if (rest_.size() < sizeof value) {
      fail();
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }
  std::string get_text() {
    const auto n = get<std::uint32_t>();
    const auto raw = get_raw(n);
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }
  std::span<const std::byte> get_raw(std::size_t n) {
    if (rest_.size() < n) {
      fail();
      return {};
    }
    const auto raw = rest_.first(n);
    rest_ = rest_.subspan(n);
    return raw;
  }
  template <typename T>
  std::vector<T> get_list() {
    const auto n = get<std::uint32_t>();
    // A count that the remaining bytes cannot hold is refused before anything is allocated.
    if (n > rest_.size() / sizeof(T)) {
      fail();
      return {};
    }
    std::vector<T> items(n);
    for (T& item : items) item = get<T>();
    return items;
  }
  // Whether `count` more items of at least `least_bytes` each could follow; bounds reserve() calls.
  bool can_hold(std::size_t count, std::size_t least_bytes) {
    if (least_bytes != 0 && count > rest_.size() / least_bytes) fail();
    return ok_;
  }
  void fail() {
    ok_ = false;
    rest_ = {};
  }
  bool ok() const { return ok_; }
  bool finished() const { return ok_ && rest_.empty(); }
  std::size_t remaining() const { return rest_.size(); }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace unisono
