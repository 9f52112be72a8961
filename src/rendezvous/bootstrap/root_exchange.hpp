// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Rank 0 as chair: everyone says a word, everyone hears all words; or all hear the same failure.
// Thread: the joining one. Blocks until the deadline at most.
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
// The word, or the failure it carries.
Result<std::vector<std::byte>> decode_record(std::span<const std::byte> record);
std::vector<std::byte> encode_words(const Words& words);
Result<Words> decode_words(std::span<const std::byte> bytes, std::size_t count);

class RootExchange {
 public:
  // channels: on rank 0 by rank, its own empty; elsewhere one, to rank 0.
  RootExchange(BootstrapLoop& bootstrap, Rank self,
               std::vector<std::unique_ptr<RecordStream>> channels, std::vector<PeerInfo> peers,
               Time deadline);

  // `doing` finishes "while ..." in messages.
  Result<Words> exchange(std::span<const std::byte> mine, const std::string& doing);
  // Tells everybody that the join failed; gives back the same status.
  Status fail(const Status& why);
  // Between exchanges: a failure that came from rank 0, or (on rank 0) a rank that went away.
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

// Keeps sending until everything is out or a short while has passed.
void flush(BootstrapLoop& bootstrap, std::span<RecordStream* const> channels);

}  // namespace unisono::rendezvous
