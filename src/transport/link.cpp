// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/link.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"

namespace unisono {
namespace {
constexpr std::size_t kPumpBytes = 1 << 20;
}  // namespace

Link::Link(std::unique_ptr<Stream> stream, LaneKind lane, std::uint32_t epoch, std::uint64_t seed)
    : stream_(std::move(stream)), terms_{lane, epoch, seed, true} {
  UNISONO_CHECK(stream_ != nullptr);
  terms_.check_payload = !stream_->keeps_bytes();
}

void Link::send(FrameKind kind, Label label, std::span<const std::byte> payload, Transfer* done) {
  Outgoing frame{make_header(terms_, kind, next_out_++, label, payload), payload, {}, done, 0};
  if (queue_.empty() && write(frame)) return;
  if (done == nullptr && !payload.empty()) {
    frame.owned.assign(payload.begin(), payload.end());
    frame.payload = frame.owned;
  }
  queue_.push_back(std::move(frame));
  update_want();
}

// True when the frame has gone out whole.
bool Link::write(Outgoing& frame) {
  const auto header = std::as_bytes(std::span(&frame.header, 1));
  std::size_t n;
  if (frame.sent < kFrameHeaderBytes) {
    n = stream_->write(header.subspan(frame.sent), frame.payload);
  } else {
    n = stream_->write(frame.payload.subspan(frame.sent - kFrameHeaderBytes));
  }
  frame.sent += n;
  bytes_out_ += n;
  if (frame.sent < kFrameHeaderBytes + frame.payload.size()) return false;
  if (frame.done != nullptr) frame.done->state = Transfer::State::done;
  return true;
}

bool Link::flush() {
  if (queue_.empty()) return false;
  const std::uint64_t before = bytes_out_;
  while (!queue_.empty() && write(queue_.front())) queue_.pop_front();
  update_want();
  return bytes_out_ != before;
}

void Link::update_want() {
  const bool want = !queue_.empty();
  if (want == want_write_) return;
  want_write_ = want;
  stream_->want_write(want);
}

Link::Pumped Link::pump(FrameSink& sink) {
  Pumped result;
  bool at_end = false;
  for (std::size_t budget = kPumpBytes; budget > 0;) {
    const std::size_t n = stream_->read(wanted());
    if (n == 0) {
      if (at_end) {
        result.ended = true;
        return result;
      }
      result.why = stream_->health();
      if (result.why.ok() || result.why.code() == Code::corrupted) return result;
      // What the peer sent between the read and the look at its health is still there.
      at_end = true;
      continue;
    }
    result.moved = true;
    bytes_in_ += n;
    got_ += n;
    if (Status status = arrived(sink); !status.ok()) {
      result.why = std::move(status);
      return result;
    }
    budget -= std::min(budget, n);
  }
  result.why = {};
  return result;
}

std::span<std::byte> Link::wanted() {
  if (in_payload_) return {payload_ + got_, static_cast<std::size_t>(incoming_.length) - got_};
  return std::as_writable_bytes(std::span(&incoming_, 1)).subspan(got_);
}

Status Link::arrived(FrameSink& sink) {
  if (in_payload_) return got_ == incoming_.length ? deliver(sink) : Status{};
  if (got_ < kFrameHeaderBytes) return {};
  if (Status status = check_header(terms_, incoming_, next_in_); !status.ok()) return status;
  ++next_in_;
  got_ = 0;
  in_payload_ = true;
  if (carries_payload(incoming_.kind)) {
    auto place = sink.place(incoming_);
    if (!place.ok()) return place.status();
    payload_ = *place;
  }
  return incoming_.length == 0 ? deliver(sink) : Status{};
}

Status Link::deliver(FrameSink& sink) {
  const std::size_t length = std::exchange(got_, 0);
  in_payload_ = false;
  if (Status status = check_payload(terms_, incoming_, {payload_, length}); !status.ok()) {
    return status;
  }
  sink.deliver(terms_.lane, incoming_);
  return {};
}

void Link::redirect(std::byte* to) {
  UNISONO_CHECK(in_payload_);
  if (got_ > 0) std::memcpy(to, payload_, got_);
  payload_ = to;
}

void Link::close() {
  stream_.reset();
  for (Outgoing& frame : queue_) {
    if (frame.done != nullptr) frame.done->state = Transfer::State::failed;
  }
  queue_.clear();
}

}  // namespace unisono
