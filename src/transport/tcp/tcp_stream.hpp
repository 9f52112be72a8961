// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A Stream over a connected, non-blocking TCP socket that the poller watches.
// Short reads go through a small staging buffer, so that a header and its payload cost one call.
#pragma once

#include <memory>

#include "base/os/child_closes.hpp"
#include "base/os/fd.hpp"
#include "base/os/poller.hpp"
#include "transport/mesh/frame_seal.hpp"
#include "transport/stream.hpp"

namespace unisono::transport {

class TcpStream final : public Stream {
 public:
  // Without a key to prove who sent them, the bytes of a loopback connection need no check.
  TcpStream(Fd socket, Poller& poller, std::uint64_t key, SealKind seal);
  ~TcpStream() override;

  std::size_t write(std::span<const std::byte> bytes) override {
    return write(Spans{bytes});
  }
  std::size_t write(const Spans& spans) override;
  std::size_t read(std::span<std::byte> bytes) override;
  Status health() override { return health_; }
  bool ready(bool) const override { return staged_from_ < staged_to_ || !health_.ok(); }
  void want_write(bool wanted) override;
  bool watch_by(Poller& poller, std::uint64_t key) override;
  void finish_writing() override;
  bool keeps_bytes() const override { return keeps_bytes_; }
  bool can_break() const override { return !on_this_host_; }
  bool closed_by_peer() const override { return closed_by_peer_; }

 private:
  static constexpr std::size_t kStageBytes = 16 << 10;

  std::size_t receive(std::byte* to, std::size_t most);
  void end(Status why);
  bool stays_on_this_host() const;

  Fd socket_;
  const ChildCloses closes_{socket_};
  Poller* poller_;
  std::uint64_t key_;
  const bool on_this_host_, keeps_bytes_;
  Status health_;
  bool want_write_ = false, watched_ = true, closed_by_peer_ = false;
  bool drained_ = false;  // the last receive came short: the next one would find nothing
  std::unique_ptr<std::byte[]> stage_;
  std::size_t staged_from_ = 0, staged_to_ = 0;
};

}  // namespace unisono::transport
