// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a rank tells about itself when it joins, and what follows from the records of all ranks.
// Pure; parsers are bounded and return nullopt for invalid bytes.
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
  std::string addresses;  // where it listens for its peers: host:port, commas between
  std::string unix_name;  // the same, as an abstract unix socket; "" when it has none
  std::string place;      // equal on ranks that see each other's abstract sockets
  int local_rank = -1;    // from the launcher; local_size 0: it did not say
  int local_size = 0;
  std::string options;  // Options::agreed_text()

  PeerInfo peer() const { return {rank, host, pid}; }
};

std::vector<std::byte> encode_peer_record(const PeerRecord& peer_record);
std::optional<PeerRecord> decode_peer_record(std::span<const std::byte> bytes);

// Returns refused when an option differs, naming the option, both values and both ranks.
Status compare_options(const PeerRecord& zero, const PeerRecord& other);

// Fills local_* and cross_* of `mine`: from the launcher's values when all ranks have them, else
// from who shares a host. shares[a][b] says that a and b share memory.
void settle_locality(const std::vector<PeerRecord>& peer_records,
                     const std::vector<std::vector<bool>>& shares, Identity& mine);

}  // namespace unisono::rendezvous
