// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Sends and receives whole messages over an authenticated connection during the join. Each carries
// a MAC over its direction, number and bytes, so that none can be changed, dropped, repeated or
// moved.
// Thread: the joining one. Nothing blocks.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/os/fd.hpp"
#include "rendezvous/handshake/handshake.hpp"
#include "unisono/status.hpp"

namespace unisono::rendezvous {

class RecordStream {
 public:
  enum class End : std::uint8_t { client = 0, server = 1 };
  // `longest` limits the peer's records: a longer one ends the channel before it is stored.
  RecordStream(Fd socket, const Session& session, End end, std::size_t longest);

  void send(std::span<const std::byte> record);
  std::optional<std::vector<std::byte>> next();
  // The record that next() would return, left in place; null when there is none.
  const std::vector<std::byte>* peek() const {
    return records_.empty() ? nullptr : &records_.front();
  }
  // Sends and receives what it can. Not ok once the peer is gone or a record has failed its check;
  // records that came before can still be taken.
  const Status& pump();
  const Status& status() const { return status_; }
  bool wants_write() const { return !out_.empty(); }
  int fd() const { return socket_.get(); }

 private:
  void read_some();
  void parse();

  Fd socket_;
  Session session_;
  End end_;
  std::size_t longest_;
  std::uint64_t sent_ = 0, received_ = 0;
  std::vector<std::byte> out_, in_;
  std::deque<std::vector<std::byte>> records_;
  Status status_;
};

}  // namespace unisono::rendezvous
