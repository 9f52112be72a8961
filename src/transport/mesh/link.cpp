// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mesh/link.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.hpp"
#include "base/data/text.hpp"

namespace unisono::transport {
namespace {
constexpr std::size_t kPumpBytes = 1 << 20;
}  // namespace

Link::Link(std::unique_ptr<Stream> stream, LaneKind lane, std::uint32_t epoch,
           const LaneSecret& secret)
    : stream_(std::move(stream)),
      terms_{lane, epoch, true},
      out_seal_(FrameSeal::make(secret.kind, secret.out, FrameSeal::Direction::out)),
      in_seal_(FrameSeal::make(secret.kind, secret.in, FrameSeal::Direction::in)) {
  UNISONO_CHECK(stream_ != nullptr);
  terms_.check_payload = !stream_->keeps_bytes();
  terms_.encrypt_payload = terms_.check_payload && out_seal_->encrypts();
  if (terms_.encrypt_payload) encrypted_.reset(new std::byte[out_seal_->stride()]);
}

void Link::send(FrameKind kind, Label label, std::span<const std::byte> payload, Transfer* done) {
  Outgoing frame{make_header(terms_, kind, next_out_++, label, payload.size()), payload, {}, done};
  if (queue_.empty() && write(frame)) return;
  const std::size_t sent = frame.sent;
  try {
    if (done == nullptr && !payload.empty()) {
      frame.owned.assign(payload.begin(), payload.end());
      frame.payload = frame.owned;
    }
    queue_.push_back(std::move(frame));
  } catch (const std::bad_alloc&) {
    // The peer must never take the next frame for the rest of this one.
    if (done != nullptr) done->state = Transfer::State::failed;
    if (sent == 0) {
      --next_out_;
    } else {
      close();
    }
    throw;
  }
  update_want();
}

void Link::abandon(const Transfer& transfer) {
  const auto frame = std::ranges::find(queue_, &transfer, &Outgoing::done);
  if (frame == queue_.end()) return;
  frame->owned.assign(frame->payload.begin(), frame->payload.end());
  frame->payload = frame->owned;
  std::exchange(frame->done, nullptr)->state = Transfer::State::failed;
}

// Frames go out one after another, so only the frame at the front uses the seal. Only what is about
// to be written is sealed, so that it is in the cache when the stream copies it.
void Link::seal_more(Outgoing& frame) {
  const std::span<const std::byte> payload = frame.payload;
  const std::size_t trailer = trailer_bytes(terms_, payload.size());
  std::size_t sealed = payload.size();
  if (frame.ready == 0) {
    seal_header(*out_seal_, frame.header);
    if (trailer > 0) out_seal_->begin(frame.header.sequence);
  }
  if (trailer > 0) {
    sealed = frame.ready == 0 ? 0 : frame.ready - kFrameHeaderBytes;
    const auto next =
        payload.subspan(sealed, std::min(payload.size() - sealed, out_seal_->stride()));
    if (terms_.encrypt_payload) {
      out_seal_->transform(next, encrypted_.get());
      encrypted_from_ = sealed;
      encrypted_bytes_ = next.size();
    } else {
      out_seal_->add(next);
    }
    sealed += next.size();
  }
  frame.ready = kFrameHeaderBytes + sealed;
  if (sealed < payload.size()) return;
  if (trailer > 0) frame.trailer = out_seal_->end();
  frame.ready += trailer;
}

// What of the payload may be written, from its first byte on or, when it is encrypted, from
// encrypted_from_ on; what was before that has been written.
std::span<const std::byte> Link::sealed_payload(const Outgoing& frame) const {
  if (terms_.encrypt_payload && !frame.payload.empty()) {
    return {encrypted_.get(), encrypted_bytes_};
  }
  return frame.payload.first(std::min(frame.ready - kFrameHeaderBytes, frame.payload.size()));
}

// Returns true when the whole frame has been written.
bool Link::write(Outgoing& frame) {
  const std::size_t body = kFrameHeaderBytes + frame.payload.size();
  const std::size_t whole = body + trailer_bytes(terms_, frame.payload.size());
  while (frame.sent < whole) {
    if (frame.sent == frame.ready) seal_more(frame);
    Stream::Spans spans{
        std::as_bytes(std::span(&frame.header, 1)),
        sealed_payload(frame),
        std::span(frame.trailer).first(frame.ready == whole ? whole - body : 0)};
    std::size_t gone = frame.sent;
    if (terms_.encrypt_payload && gone > kFrameHeaderBytes) gone -= encrypted_from_;
    for (auto& span : spans) {
      const std::size_t cut = std::min(gone, span.size());
      span = span.subspan(cut);
      gone -= cut;
    }
    const std::size_t n = stream_->write(spans);
    frame.sent += n;
    bytes_out_ += n;
    if (frame.sent < frame.ready) return false;
  }
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
    const bool again = header_waits();
    const std::size_t n = again ? 0 : stream_->read(wanted());
    if (n == 0 && !again) {
      if (at_end) {
        result.ended = true;
        return result;
      }
      result.why = stream_->health();
      if (result.why.ok() || result.why.code() == Code::corrupted) return result;
      // Read again: the peer may have sent something between read() and health().
      at_end = true;
      continue;
    }
    result.moved = true;
    bytes_in_ += n;
    got_ += n;
    if (Status status = arrived(sink, n); !status.ok()) {
      result.why = std::move(status);
      return result;
    }
    budget -= std::min(budget, n);
  }
  result.why = {};
  return result;
}

std::span<std::byte> Link::wanted() {
  switch (part_) {
    case Part::header: return std::as_writable_bytes(std::span(&incoming_, 1)).subspan(got_);
    case Part::payload: return {payload_ + got_, static_cast<std::size_t>(incoming_.length) - got_};
    case Part::trailer: return std::span(trailer_).subspan(got_);
  }
  return {};
}

// Handles `bytes` more bytes of the part that is arriving.
Status Link::arrived(FrameSink& sink, std::size_t bytes) {
  if (part_ == Part::payload) return payload_arrived(sink, bytes);
  if (part_ == Part::trailer) {
    if (got_ < kCheckBytes) return {};
    if (Status status = check_trailer(); !status.ok()) return status;
    deliver(sink);
    return {};
  }
  if (got_ < kFrameHeaderBytes) return {};
  Status status = check_header(terms_, *in_seal_, incoming_, next_in_);
  if (!status.ok()) return status;
  if (carries_payload(incoming_.kind)) {
    auto place = sink.place(incoming_);     // may throw: nothing has changed yet
    if (!place.ok()) return place.status();
    payload_ = *place;
  }
  ++next_in_;
  got_ = 0;
  part_ = Part::payload;
  if (incoming_.length == 0) {
    deliver(sink);
  } else if (terms_.check_payload) {
    in_seal_->begin(incoming_.sequence);
  }
  return {};
}

Status Link::payload_arrived(FrameSink& sink, std::size_t bytes) {
  const auto length = static_cast<std::size_t>(incoming_.length);
  if (terms_.check_payload) {
    const std::span<std::byte> fresh{payload_ + got_ - bytes, bytes};
    const bool in_pieces = in_seal_->stride() != SIZE_MAX;
    if (terms_.encrypt_payload) {
      in_seal_->transform(fresh, fresh.data());
    } else if (in_pieces) {
      in_seal_->add(fresh);
    } else if (got_ == length) {
      in_seal_->add({payload_, length});
    }
  }
  if (got_ < length) return {};
  if (!terms_.check_payload) {
    deliver(sink);
    return {};
  }
  part_ = Part::trailer;
  got_ = 0;
  return {};
}

Status Link::check_trailer() const {
  if (in_seal_->passes(trailer_)) return {};
  return Status(Code::corrupted, cat("frame ", incoming_.sequence, " of ", incoming_.length,
                                     " bytes has a payload that fails its check"));
}

void Link::deliver(FrameSink& sink) {
  got_ = 0;
  part_ = Part::header;
  sink.deliver(terms_.lane, incoming_);
}

void Link::redirect(std::byte* to) {
  UNISONO_CHECK(part_ != Part::header);
  const std::size_t here =
      part_ == Part::payload ? got_ : static_cast<std::size_t>(incoming_.length);
  if (here > 0) std::memcpy(to, payload_, here);
  payload_ = to;
}

void Link::close() {
  stream_.reset();
  for (Outgoing& frame : queue_) {
    if (frame.done != nullptr) frame.done->state = Transfer::State::failed;
  }
  queue_.clear();
}

}  // namespace unisono::transport
