// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/plan.hpp"

#include <array>
#include <span>

#include "base/data/hash.hpp"

namespace unisono {

std::uint64_t identity_of(const Bucket& bucket) {
  std::uint64_t hash = bucket.set;
  for (const Response& response : bucket.responses) {
    for (const Request& tensor : response.tensors) {
      // No shapes: members of a gather have different ones, and each knows only its own.
      const std::array<std::uint64_t, 3> words{
          hash, response.sequence,
          static_cast<std::uint64_t>(response.planned) << 24 |
              static_cast<std::uint64_t>(tensor.kind) << 16 |
              static_cast<std::uint64_t>(tensor.dtype) << 8 |
              static_cast<std::uint64_t>(tensor.op)};
      hash = hash_text(tensor.name, hash_bytes(std::as_bytes(std::span(words))));
    }
  }
  constexpr unsigned kUnusedBits = 16;
  const std::uint64_t identity = hash >> kUnusedBits;
  return identity == 0 ? 1 : identity;
}

}  // namespace unisono
