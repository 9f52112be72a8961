// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a rank says of itself when it joins, and what can be learnt from everybody's records.
// Pure; parsers are bounded and give nothing for garbage.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/peer.hpp"
#include "unisono/status.hpp"
#include "unisono/unisono.hpp"

namespace unisono::rendezvous {

inline constexpr std::size_t kOptionsTextMax = 16 << 10;
inline constexpr std::size_t kPeerRecordBytesMax = kOptionsTextMax + (4 << 10);

struct PeerRecord {
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

std::vector<std::byte> encode_peer_record(const PeerRecord& peer_record);
std::optional<PeerRecord> decode_peer_record(std::span<const std::byte> bytes);

// refused, naming the option, both values and both ranks.
Status compare_options(const PeerRecord& zero, const PeerRecord& other);

// Fills local_* and cross_* of `mine` from the launcher's word when all have one, else from who
// sits together: shares[a][b] says that a and b share memory.
void settle_locality(const std::vector<PeerRecord>& peer_records,
                     const std::vector<std::vector<bool>>& shares, Identity& mine);

}  // namespace unisono::rendezvous
