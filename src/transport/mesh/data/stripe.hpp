// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One lane of data: a Link, and who drives it. Either the thread that drives the engine does, and
// no lock is taken; or an I/O thread reads, checks, seals and writes, and the engine's thread hands
// over what is to be sent, and hears what was found. A fault is handed over with it: only the
// engine's thread mends, closes and blames.
//
// Locks, in this order: the lane's (whoever drives it, and whoever changes or takes back what is on
// it), then the outbox's or the postbox's, which are held for a moment only.
// Thread: the engine's calls everything but drive().
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "transport/mesh/link.hpp"
#include "transport/mesh/mesh.hpp"
#include "transport/mesh/postbox.hpp"

namespace unisono::transport {

class IoThread;

class Stripe final : private FrameSink {
 public:
  // With `io` that thread drives it.
  Stripe(std::size_t which, LaneStream lane, std::uint32_t epoch, bool heals, Postbox& box,
         IoThread* io);

  void send(Label label, std::span<const std::byte> bytes, Transfer& done);
  void say_goodbye();
  // Takes a transfer back that is on this stripe; returns false when there is no memory for it.
  bool abandon(Transfer& transfer) noexcept;
  // What has arrived is in a buffer; the rest goes to the receive. Not where an I/O thread drives.
  void redirect(std::byte* to) { link_.redirect(to); }

  // Moves what it can, or tells what its thread has found; each end and each fault is told once.
  Link::Pumped progress();
  // Reads what has come, whoever drives otherwise; returns whether anything had.
  bool read_on();
  bool ready() const { return io_ == nullptr && link_.ready(); }
  // The peer has so many frames. Returns corrupted when it cannot; an I/O thread finds that later.
  Status acknowledged(std::uint64_t frames);
  // The peer has all that was written.
  void confirm_all();
  // How many frames have arrived, about which the peer is told now.
  std::uint64_t tell_received();
  bool owes() const { return received() != told_.load(std::memory_order_relaxed); }
  bool owes_much() const { return seen_.owes_much.load(std::memory_order_acquire); }

  void attach(std::unique_ptr<Stream> stream, const LaneSecret& secret);
  void detach();
  void close();
  // This rank sends nothing more: goodbye has been written.
  void finish_writing();

  bool open() const { return open_; }
  bool has_stream() const { return has_stream_; }
  bool finished() const { return finished_; }
  // The peer sends nothing more.
  bool ended() const { return seen_.ended.load(std::memory_order_acquire); }
  void set_ended() { seen_.ended.store(true, std::memory_order_release); }
  bool resumed() const { return seen_.resumed.load(std::memory_order_acquire); }
  std::size_t backlog() const {
    return outbox_bytes_.load(std::memory_order_acquire) +
           seen_.backlog.load(std::memory_order_acquire);
  }
  bool idle() const { return backlog() == 0; }
  std::uint64_t bytes_in() const { return seen_.bytes_in.load(std::memory_order_relaxed); }
  std::uint64_t bytes_out() const { return seen_.bytes_out.load(std::memory_order_relaxed); }

  // I/O thread: moves what it can; returns whether anything moved. `news`: the engine should hear.
  bool drive(bool& news);

 private:
  friend class IoThread;
  struct Handed {
    FrameKind kind;
    Label label;
    std::span<const std::byte> payload;
    std::vector<std::byte> owned;       // of a send that was taken back
    Transfer* done;
  };
  // What the engine's thread may read while the lane is driven.
  struct Seen {
    std::atomic<std::uint64_t> received{0}, bytes_in{0}, bytes_out{0};
    std::atomic<std::size_t> backlog{0};
    std::atomic<bool> owes_much{false}, resumed{false}, ended{false};
  };

  Result<std::byte*> place(const FrameHeader& header) override;
  void deliver(LaneKind lane, const FrameHeader& header) override;
  std::unique_lock<std::mutex> lock() {
    return io_ != nullptr ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
  }
  void hand_over(Handed frame);
  bool take_outbox();
  bool abandon_handed(const Transfer& transfer);
  void take_counts();
  Link::Pumped move();
  void publish();

  const std::size_t which_;
  const bool heals_;
  Postbox& box_;
  IoThread* const io_;
  std::mutex mutex_;                    // the lane's, where an I/O thread drives
  Link link_;
  bool open_ = true, has_stream_ = false, finished_ = false;  // as the engine's thread left them
  bool says_goodbye_ = false;
  Status bad_count_;                    // of frames that the peer says it has
  bool starved_ = false;                // there was no memory for a frame to be sent
  bool finished_receive_ = false;       // since the last drive
  std::optional<Link::Pumped> found_;   // an end or a fault; nothing moves until it is dealt with
  std::atomic<bool> has_found_{false};  // and the engine's thread does not know yet

  std::mutex outbox_mutex_;
  std::vector<Handed> outbox_;
  std::vector<Handed> taken_;           // I/O thread
  std::atomic<std::size_t> outbox_bytes_{0};
  std::atomic<std::uint64_t> told_{0}, confirmed_{0};  // frames; by the engine's thread
  std::uint64_t confirmed_before_ = 0;
  Seen seen_;

  std::uint64_t key_ = 0;               // with which the I/O thread's poller watches the stream
  std::atomic<bool> called_{false};     // the I/O thread has been asked to look at it
  bool hot_ = false;                    // I/O thread: it is about to be driven
  std::uint64_t received() const { return seen_.received.load(std::memory_order_acquire); }
};

}  // namespace unisono::transport
