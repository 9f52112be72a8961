// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Hands out ranges of a segment. Thread-safe. Uses first fit over a map of free ranges, which stays
// short because a training job asks for the same few sizes again and again.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>

namespace unisono::arena {

class Heap {
 public:
  Heap(std::size_t begin, std::size_t end);

  // Returns the offset of a range with this alignment (a power of two); nullopt when none is left.
  std::optional<std::size_t> take(std::size_t bytes, std::size_t alignment);
  void give_back(std::size_t offset);
  std::size_t used() const;
  std::size_t high_water() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_;   // offset -> bytes; ranges never touch each other
  std::map<std::size_t, std::size_t> taken_;
  std::size_t used_ = 0, high_water_ = 0;
};

}  // namespace unisono::arena
