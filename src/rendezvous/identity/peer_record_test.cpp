// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/identity/peer_record.hpp"

#include <gtest/gtest.h>

namespace unisono::rendezvous {
namespace {

TEST(PeerRecord, SurvivesTheWireAndNothingShorterDoes) {
  const PeerRecord peer_record{3, 4, "h", 77, "h:1", "name", "place", 1, 2, "a=1\nb=2\n"};
  const auto bytes = encode_peer_record(peer_record);
  const auto back = decode_peer_record(bytes);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->rank, 3);
  EXPECT_EQ(back->unix_name, "name");
  EXPECT_EQ(back->options, peer_record.options);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(decode_peer_record(std::span(bytes).first(n)).has_value());
  }
}

TEST(PeerRecord, OptionMismatchNamesBothValuesAndRanks) {
  PeerRecord zero, one;
  one.rank = 1;
  zero.options = "codec=none\nfusion_bytes=67108864\n";
  one.options = "codec=none\nfusion_bytes=1048576\n";
  EXPECT_EQ(compare_options(zero, one).message(),
            "option fusion_bytes: rank 0 has 67108864, rank 1 has 1048576; set the same "
            "UNISONO_FUSION_BYTES on every rank");
  one.options = zero.options;
  EXPECT_TRUE(compare_options(zero, one).ok());
}

Identity settled(const std::vector<PeerRecord>& peer_records,
                 const std::vector<std::vector<bool>>& shares, Rank rank) {
  Identity identity;
  identity.rank = rank;
  settle_locality(peer_records, shares, identity);
  return identity;
}

TEST(PeerRecord, LocalityFollowsSharedMemory) {
  // Ranks 0 and 2 share a host, 1 and 3 another.
  const std::vector<PeerRecord> peer_records(4);
  std::vector<std::vector<bool>> shares(4, std::vector<bool>(4));
  shares[0][2] = shares[2][0] = shares[1][3] = shares[3][1] = true;
  const Identity three = settled(peer_records, shares, 3);
  EXPECT_EQ(three.local_rank, 1);
  EXPECT_EQ(three.local_size, 2);
  EXPECT_EQ(three.cross_rank, 1);
  EXPECT_EQ(three.cross_size, 2);
}

TEST(PeerRecord, LaunchersWordIsPreferred) {
  std::vector<PeerRecord> peer_records(2);
  for (PeerRecord& peer_record : peer_records) {
    peer_record.local_rank = 0;
    peer_record.local_size = 1;
  }
  const std::vector<std::vector<bool>> shares(2, std::vector<bool>(2, true));
  const Identity one = settled(peer_records, shares, 1);
  EXPECT_EQ(one.local_size, 1);
  EXPECT_EQ(one.cross_rank, 1);
  EXPECT_EQ(one.cross_size, 2);
}

}  // namespace
}  // namespace unisono::rendezvous
