// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/identity/peer_record.hpp"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/data/bytes.hpp"
#include "base/data/text.hpp"

namespace unisono::rendezvous {
namespace {

using Lines = std::map<std::string, std::string>;

Lines lines_of(const std::string& text) {
  Lines lines;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) lines[line.substr(0, equals)] = line.substr(equals + 1);
    at = end + 1;
  }
  return lines;
}

std::string variable_of(const std::string& option) {
  std::string name = cat("UNISONO_", option);
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// Returns, for every rank, the lowest rank that shares its host.
std::vector<Rank> heads_of(const std::vector<std::vector<bool>>& shares) {
  std::vector<Rank> head(shares.size());
  for (std::size_t r = 0; r < shares.size(); ++r) {
    head[r] = static_cast<Rank>(r);
    for (std::size_t lower = 0; lower < r; ++lower) {
      if (shares[r][lower]) {
        head[r] = head[lower];
        break;
      }
    }
  }
  return head;
}

}  // namespace

std::vector<std::byte> encode_peer_record(const PeerRecord& peer_record) {
  ByteWriter out;
  out.put(static_cast<std::int32_t>(peer_record.rank));
  out.put(static_cast<std::int32_t>(peer_record.size));
  out.put_text(peer_record.host);
  out.put(peer_record.pid);
  out.put_text(peer_record.addresses);
  out.put_text(peer_record.unix_name);
  out.put_text(peer_record.place);
  out.put(static_cast<std::int32_t>(peer_record.local_rank));
  out.put(static_cast<std::int32_t>(peer_record.local_size));
  out.put_text(peer_record.options);
  return out.take();
}

std::optional<PeerRecord> decode_peer_record(std::span<const std::byte> bytes) {
  if (bytes.size() > kPeerRecordBytesMax) return std::nullopt;
  ByteReader in(bytes);
  PeerRecord peer_record;
  peer_record.rank = in.get<std::int32_t>();
  peer_record.size = in.get<std::int32_t>();
  peer_record.host = in.get_text();
  peer_record.pid = in.get<std::int64_t>();
  peer_record.addresses = in.get_text();
  peer_record.unix_name = in.get_text();
  peer_record.place = in.get_text();
  peer_record.local_rank = in.get<std::int32_t>();
  peer_record.local_size = in.get<std::int32_t>();
  peer_record.options = in.get_text();
  if (!in.finished() || peer_record.options.size() > kOptionsTextMax) return std::nullopt;
  return peer_record;
}

Status compare_options(const PeerRecord& zero, const PeerRecord& other) {
  if (zero.options == other.options) return {};
  const Lines ours = lines_of(zero.options), theirs = lines_of(other.options);
  Lines all = ours;
  all.insert(theirs.begin(), theirs.end());
  for (const auto& [option, ignored] : all) {
    const auto a = ours.find(option), b = theirs.find(option);
    const std::string our_value = a == ours.end() ? "no such option" : a->second;
    const std::string their_value = b == theirs.end() ? "no such option" : b->second;
    if (our_value == their_value) continue;
    return Status(Code::refused, cat("option ", option, ": rank ", zero.rank, " has ", our_value,
                                     ", rank ", other.rank, " has ", their_value, "; set the same ",
                                     variable_of(option), " on every rank"));
  }
  return {};
}

void settle_locality(const std::vector<PeerRecord>& peer_records,
                     const std::vector<std::vector<bool>>& shares, Identity& mine) {
  const std::size_t count = peer_records.size();
  std::vector<Rank> local_rank(count);
  std::vector<int> local_size(count);
  if (std::all_of(peer_records.begin(), peer_records.end(),
                  [](const PeerRecord& c) { return c.local_size > 0; })) {
    for (std::size_t r = 0; r < count; ++r) {
      local_rank[r] = peer_records[r].local_rank;
      local_size[r] = peer_records[r].local_size;
    }
  } else {
    const std::vector<Rank> head = heads_of(shares);
    for (std::size_t r = 0; r < count; ++r) {
      const auto up_to = head.begin() + static_cast<std::ptrdiff_t>(r);
      local_rank[r] = static_cast<Rank>(std::count(head.begin(), up_to, head[r]));
      local_size[r] = static_cast<int>(std::count(head.begin(), head.end(), head[r]));
    }
  }
  const auto me = static_cast<std::size_t>(mine.rank);
  mine.local_rank = local_rank[me];
  mine.local_size = local_size[me];
  const auto up_to = local_rank.begin() + mine.rank;
  mine.cross_rank = static_cast<Rank>(std::count(local_rank.begin(), up_to, local_rank[me]));
  mine.cross_size =
      static_cast<int>(std::count(local_rank.begin(), local_rank.end(), local_rank[me]));
}

}  // namespace unisono::rendezvous
