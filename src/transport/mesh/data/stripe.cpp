// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mesh/data/stripe.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/check.hpp"
#include "transport/mesh/data/io_thread.hpp"

namespace unisono::transport {

Stripe::Stripe(std::size_t which, LaneStream lane, std::uint32_t epoch, bool heals, Postbox& box,
               IoThread* io)
    : which_(which),
      heals_(heals),
      box_(box),
      io_(io),
      link_(nullptr, LaneKind::data, epoch, {}, heals) {
  if (io_ != nullptr) key_ = io_->add(*this);
  if (lane.stream == nullptr) return;
  if (io_ != nullptr) UNISONO_CHECK(lane.stream->watch_by(io_->poller(), key_));
  link_ = Link(std::move(lane.stream), LaneKind::data, epoch, lane.secret, heals);
  has_stream_ = true;
  publish();
}

void Stripe::send(Label label, std::span<const std::byte> bytes, Transfer& done) {
  if (io_ != nullptr) return hand_over({FrameKind::data, label, bytes, {}, &done});
  link_.send(FrameKind::data, label, bytes, &done);
  publish();
}

// It says how much has arrived: the beat that did may be overtaken.
void Stripe::say_goodbye() {
  if (!open_) return;
  if (io_ != nullptr) return hand_over({FrameKind::goodbye, 0, {}, {}, nullptr});
  link_.send(FrameKind::goodbye, heals_ ? link_.received() : 0, {}, nullptr);
  publish();
}

void Stripe::hand_over(Handed frame) {
  const std::size_t bytes = kFrameHeaderBytes + frame.payload.size();
  {
    const std::lock_guard locked(outbox_mutex_);
    outbox_.push_back(std::move(frame));    // may throw; nothing has changed then
    outbox_bytes_.fetch_add(bytes, std::memory_order_acq_rel);
  }
  io_->call(*this);
}

bool Stripe::abandon_handed(const Transfer& transfer) {
  const std::lock_guard locked(outbox_mutex_);
  const auto frame = std::ranges::find(outbox_, &transfer, &Handed::done);
  if (frame == outbox_.end()) return false;
  frame->owned.assign(frame->payload.begin(), frame->payload.end());
  frame->payload = frame->owned;
  std::exchange(frame->done, nullptr)->state = Transfer::State::failed;
  return true;
}

bool Stripe::abandon(Transfer& transfer) noexcept {
  std::byte* rest = nullptr;
  const auto locked = lock();
  try {
    if (io_ != nullptr && abandon_handed(transfer)) return true;
    link_.abandon(transfer);
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (!box_.drop(which_, transfer, rest)) return false;
  if (rest != nullptr) link_.redirect(rest);
  return true;
}

Link::Pumped Stripe::progress() {
  if (io_ == nullptr) {
    if (!open_) return {};
    const Link::Pumped moved = move();
    if (moved.moved || !moved.why.ok()) publish();
    return moved;
  }
  if (!has_found_.load(std::memory_order_acquire)) return {};
  const std::lock_guard locked(mutex_);
  has_found_.store(false, std::memory_order_relaxed);
  return found_ ? *found_ : Link::Pumped{};
}

// What the engine's thread finds here it finds again; an I/O thread would not look again.
bool Stripe::read_on() {
  const auto locked = lock();
  if (found_) return false;
  const Link::Pumped pumped = link_.pump(*this);
  if (io_ != nullptr && !pumped.why.ok()) {
    found_ = pumped;
    has_found_.store(true, std::memory_order_release);
  }
  publish();
  return pumped.moved && pumped.why.ok();
}

Link::Pumped Stripe::move() {
  const bool wrote = link_.flush();
  Link::Pumped pumped = link_.pump(*this);
  pumped.moved |= wrote;
  if (pumped.why.ok() && !bad_count_.ok()) pumped.why = std::exchange(bad_count_, {});
  if (pumped.why.ok() && starved_) {
    pumped.why = Status(Code::out_of_memory, "no memory for a frame that was to be sent");
  }
  return pumped;
}

Status Stripe::acknowledged(std::uint64_t frames) {
  if (io_ == nullptr) {
    Status status = link_.acknowledged(frames);
    publish();
    return status;
  }
  // Counts never fall, or else the last one was a lie, too.
  if (frames > confirmed_.load(std::memory_order_relaxed)) {
    confirmed_.store(frames, std::memory_order_release);
    io_->call(*this);
  }
  return {};
}

void Stripe::confirm_all() {
  const auto locked = lock();
  (void)link_.acknowledged(link_.frames_written());
  publish();
}

// The wish is taken before the count: what arrives in between is wished for again.
std::uint64_t Stripe::tell_received() {
  seen_.owes_much.exchange(false, std::memory_order_acq_rel);
  const std::uint64_t frames = received();
  told_.store(frames, std::memory_order_release);
  if (io_ == nullptr) link_.told_received(frames);
  return frames;
}

void Stripe::attach(std::unique_ptr<Stream> stream, const LaneSecret& secret) {
  const auto locked = lock();
  found_.reset();
  if (io_ != nullptr) UNISONO_CHECK(stream->watch_by(io_->poller(), key_));
  link_.attach(std::move(stream), secret);
  told_.store(link_.received(), std::memory_order_relaxed);
  has_stream_ = true;
  finished_ = false;                        // what was written may have to be written again
  publish();
  if (io_ != nullptr) io_->call(*this);
}

void Stripe::detach() {
  const auto locked = lock();
  found_.reset();
  link_.detach();
  has_stream_ = false;
  publish();
}

void Stripe::close() {
  const auto locked = lock();
  found_.reset();
  link_.close();
  open_ = has_stream_ = false;
  if (io_ != nullptr) {
    const std::lock_guard outbox(outbox_mutex_);
    for (const Handed& frame : outbox_) {
      if (frame.done != nullptr) frame.done->state = Transfer::State::failed;
    }
    outbox_.clear();
    outbox_bytes_.store(0, std::memory_order_release);
  }
  publish();
}

void Stripe::finish_writing() {
  const auto locked = lock();
  finished_ = true;
  link_.finish_writing();
}

// Sends what was handed over. What is no longer in the outbox is in the backlog before it leaves the
// sum, so that the stripe is never idle in between.
bool Stripe::take_outbox() {
  {
    const std::lock_guard locked(outbox_mutex_);
    taken_.swap(outbox_);
  }
  if (taken_.empty()) return false;
  std::size_t bytes = 0;
  std::size_t sent = 0;
  try {
    for (; sent < taken_.size(); ++sent) {
      Handed& frame = taken_[sent];
      bytes += kFrameHeaderBytes + frame.payload.size();
      const bool goodbye = frame.kind == FrameKind::goodbye;
      says_goodbye_ |= goodbye;
      link_.send(frame.kind, goodbye && heals_ ? Label(link_.received()) : frame.label,
                 frame.payload, frame.done);
    }
  } catch (const std::bad_alloc&) {
    // The link fails what it could not take; the rest would leave a gap, and the peer is given up.
    for (++sent; sent < taken_.size(); ++sent) {
      bytes += kFrameHeaderBytes + taken_[sent].payload.size();
      if (taken_[sent].done != nullptr) taken_[sent].done->state = Transfer::State::failed;
    }
    starved_ = true;                        // the words for it would need memory, too
  }
  taken_.clear();
  seen_.backlog.store(link_.backlog(), std::memory_order_release);
  outbox_bytes_.fetch_sub(bytes, std::memory_order_acq_rel);
  return true;
}

// What the engine's thread has heard from the peer, and told it.
void Stripe::take_counts() {
  link_.told_received(told_.load(std::memory_order_acquire));
  const std::uint64_t confirmed = confirmed_.load(std::memory_order_acquire);
  if (confirmed == confirmed_before_) return;
  confirmed_before_ = confirmed;
  if (Status status = link_.acknowledged(confirmed); !status.ok()) bad_count_ = std::move(status);
}

bool Stripe::drive(bool& news) {
  const std::lock_guard locked(mutex_);
  if (!link_.open() || found_) return false;
  const std::uint64_t sends_before = link_.sends_done();
  finished_receive_ = false;
  Link::Pumped pumped;
  try {
    const bool took = take_outbox();
    take_counts();
    pumped = move();
    pumped.moved |= took;
  } catch (const std::bad_alloc&) {
    pumped = {true, false, Status(Code::out_of_memory, "no memory for what is on its way")};
  }
  news |= finished_receive_ || link_.sends_done() != sends_before ||
          (pumped.moved && (says_goodbye_ || ended()));
  if (!pumped.why.ok()) {
    found_ = pumped;
    has_found_.store(true, std::memory_order_release);
    news = true;
  }
  const bool resumed_before = resumed();
  publish();
  news |= owes_much() || resumed() != resumed_before;
  return pumped.moved && !found_;
}

// The order matters: whoever sees that a word is owed also sees how much has arrived.
void Stripe::publish() {
  seen_.received.store(link_.received(), std::memory_order_release);
  seen_.bytes_in.store(link_.bytes_in(), std::memory_order_relaxed);
  seen_.bytes_out.store(link_.bytes_out(), std::memory_order_relaxed);
  seen_.backlog.store(link_.backlog(), std::memory_order_release);
  seen_.resumed.store(link_.resumed(), std::memory_order_release);
  if (link_.take_owes_much()) seen_.owes_much.store(true, std::memory_order_release);
}

// Once the goodbye is here, receives may be failed and their memory given back at any time.
Result<std::byte*> Stripe::place(const FrameHeader& header) {
  if (ended()) return Status(Code::corrupted, "it sent data behind its goodbye");
  return box_.begin({header.tag, header.identity}, static_cast<std::size_t>(header.length), which_);
}

void Stripe::deliver(LaneKind, const FrameHeader& header) {
  if (header.kind == FrameKind::data) {
    finished_receive_ |= box_.finish(which_);
  } else if (header.kind == FrameKind::goodbye) {
    if (Status status = link_.acknowledged(header.tag); !status.ok()) bad_count_ = std::move(status);
    set_ended();
    finished_receive_ = true;               // the engine should hear
  }
}

}  // namespace unisono::transport
