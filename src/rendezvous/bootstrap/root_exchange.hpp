// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// An exchange through rank 0: every rank sends some bytes (its word) and receives the words of all
// ranks; or all ranks receive the same failure.
// Thread: the joining one. Blocks at most until the deadline.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rendezvous/identity/peer_record.hpp"
#include "rendezvous/bootstrap/bootstrap_loop.hpp"

namespace unisono::rendezvous {

using Words = std::vector<std::vector<std::byte>>;  // by rank

// Records of the join: a word, or a failure that ends the join for all.
std::vector<std::byte> encode_word(std::span<const std::byte> word);
std::vector<std::byte> encode_failure(const Status& why);
// Returns the word, or the failure that the record carries.
Result<std::vector<std::byte>> decode_record(std::span<const std::byte> record);
std::vector<std::byte> encode_words(const Words& words);
Result<Words> decode_words(std::span<const std::byte> bytes, std::size_t count);

class RootExchange {
 public:
  // channels: on rank 0 one for each rank, its own empty; on the others a single one, to rank 0.
  RootExchange(BootstrapLoop& bootstrap, Rank self,
               std::vector<std::unique_ptr<RecordStream>> channels, std::vector<PeerInfo> peers,
               Time deadline);

  // `doing` completes "while ..." in error messages.
  Result<Words> exchange(std::span<const std::byte> mine, const std::string& doing);
  // Tells all ranks that the join failed; returns the same status.
  Status fail(const Status& why);
  // Called between exchanges. Returns a failure that a peer sent, or peer_lost when a peer is gone.
  Status news();
  std::vector<RecordStream*> all() const;

 private:
  Result<Words> chair(std::span<const std::byte> mine, const std::string& doing);
  Result<Words> attend(std::span<const std::byte> mine, const std::string& doing);

  BootstrapLoop& bootstrap_;
  Rank self_;
  std::vector<std::unique_ptr<RecordStream>> channels_;
  std::vector<PeerInfo> peers_;
  Time deadline_;
};

// Sends until nothing is left to send or a short time has passed.
void flush(BootstrapLoop& bootstrap, std::span<RecordStream* const> channels);

}  // namespace unisono::rendezvous
