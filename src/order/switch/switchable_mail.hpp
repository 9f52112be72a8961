// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which of an order's messages a member may look at: messages carry the epoch of the strategy that
// made them, since members replace it at the same response but not at the same time.
// Thread: the owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "unisono/status.hpp"
#include "unisono/types.hpp"

namespace unisono::order {

class EpochMail {
 public:
  std::uint64_t epoch() const { return epoch_; }
  // Puts the epoch in front; `lead` goes before it.
  std::vector<std::byte> seal(std::span<const std::byte> message,
                              std::span<const std::byte> lead = {}) const;
  // Returns what is inside when it is of this epoch. Older is dropped. Newer is kept for advance()
  // if this member `has_consented` to a next epoch: nobody is ahead without that, nor by two.
  Result<std::optional<std::span<const std::byte>>> open(Rank from,
                                                         std::span<const std::byte> sealed,
                                                         bool has_consented);
  // The next epoch begins; returns what came early, in order of arrival.
  std::vector<std::pair<Rank, std::vector<std::byte>>> advance();

 private:
  std::uint64_t epoch_ = 0;
  std::vector<std::pair<Rank, std::vector<std::byte>>> early_;
};

}  // namespace unisono::order
