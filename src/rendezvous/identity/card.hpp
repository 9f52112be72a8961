// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a rank says of itself when it joins, and what can be learnt from everybody's cards.
// Pure; parsers are bounded and give nothing for garbage.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/peer.hpp"
#include "unisono/status.hpp"
#include "unisono/unisono.hpp"

namespace unisono {

inline constexpr std::size_t kOptionsTextMost = 16 << 10;
inline constexpr std::size_t kCardBytesMost = kOptionsTextMost + (4 << 10);

struct Card {
  Rank rank = 0;
  int size = 1;
  std::string host;
  std::int64_t pid = 0;
  std::string address;    // where it listens for its peers, host:port
  std::string unix_name;  // the same, as an abstract unix socket; "" when it wants none
  std::string place;      // equal when abstract sockets of the other are seen
  int local_rank = -1;    // the launcher's word; local_size 0: it gave none
  int local_size = 0;
  std::string options;  // Options::agreed_text()

  PeerInfo peer() const { return {rank, host, pid}; }
};

std::vector<std::byte> encode(const Card& card);
std::optional<Card> decode_card(std::span<const std::byte> bytes);

// refused, naming the option, both values and both ranks.
Status compare_options(const Card& zero, const Card& other);

// Fills local_* and cross_* of `mine` from the launcher's word when all have one, else from who
// sits together: shares[a][b] says that a and b share memory.
void settle_locality(const std::vector<Card>& cards, const std::vector<std::vector<bool>>& shares,
                     Identity& mine);

}  // namespace unisono
