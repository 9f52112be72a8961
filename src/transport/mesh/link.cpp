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
// The peer keeps at most about this much that has arrived here.
constexpr std::uint64_t kUnconfirmedFramesMax = 64, kUnconfirmedBytesMax = 1 << 20;
}  // namespace

Link::Link(std::unique_ptr<Stream> stream, LaneKind lane, std::uint32_t epoch,
           const LaneSecret& secret, bool heals, std::size_t copy_max)
    : terms_{lane, epoch, true}, heals_(heals), copy_max_(copy_max) {
  if (stream != nullptr) use(std::move(stream), secret);
}

void Link::use(std::unique_ptr<Stream> stream, const LaneSecret& secret) {
  out_seal_ = FrameSeal::make(secret.kind, secret.out, FrameSeal::Direction::out);
  in_seal_ = FrameSeal::make(secret.kind, secret.in, FrameSeal::Direction::in);
  terms_.check_payload = !stream->keeps_bytes();
  terms_.encrypt_payload = terms_.check_payload && out_seal_->encrypts();
  if (terms_.encrypt_payload) encrypted_.reset(new std::byte[out_seal_->stride()]);
  stream_ = std::move(stream);
  want_write_ = false;
}

void Link::attach(std::unique_ptr<Stream> stream, const LaneSecret& secret) {
  UNISONO_CHECK(!closed_);
  detach();
  use(std::move(stream), secret);
  awaits_resume_ = true;
  resume_.emplace(Outgoing{
      make_header(terms_, FrameKind::resume, kResumeSequence, received(), 0), {}, {}, nullptr});
  told_received();
  (void)write_resume();
  update_want();
}

void Link::detach() {
  stream_.reset();
  resume_.reset();
  awaits_resume_ = false;
  if (!queue_.empty()) rewind(queue_.front());
  // A frame that was arriving comes again, from its beginning and to the same place.
  if (part_ != Part::header) {
    placed_ = true;
    begun_ = incoming_;
    --next_in_;
  }
  part_ = Part::header;
  got_ = 0;
}

void Link::rewind(Outgoing& frame) { frame.ready = frame.sent = 0; }

Status Link::acknowledged(std::uint64_t frames) {
  const std::uint64_t written = frames_written();
  if (frames > written) {
    return Status(Code::corrupted, cat("it says that frame ", frames - 1, " has arrived, of ",
                                       written, " that were sent"));
  }
  while (!kept_.empty() && kept_.front().header.sequence < frames) {
    finish(kept_.front().done);
    kept_.pop_front();
  }
  return {};
}

// A frame that was written as a whole may wait at the front for the memory to be kept.
std::uint64_t Link::frames_written() const {
  if (queue_.empty()) return next_out_;
  const Outgoing& front = queue_.front();
  const std::size_t whole = kFrameHeaderBytes + front.payload.size() +
                            trailer_bytes(terms_, front.payload.size());
  return front.header.sequence + (front.sent == whole ? 1 : 0);
}

// May throw bad_alloc; then the frame is looked at again.
Status Link::resume_arrived() {
  const std::uint64_t frames = incoming_.tag;
  if (Status status = acknowledged(frames); !status.ok()) return status;
  const std::uint64_t next = kept_.empty()
                                 ? frames_written()
                                 : kept_.front().header.sequence;
  if (frames != next) {
    return Status(Code::corrupted, cat("it wants frame ", frames, " again, which has been "
                                       "acknowledged; frame ", next, " is the next"));
  }
  while (!kept_.empty()) {
    queue_.push_front(std::move(kept_.back()));
    kept_.pop_back();
    backlog_ += size_of(queue_.front());
    rewind(queue_.front());
  }
  got_ = 0;
  awaits_resume_ = false;
  flush();
  update_want();
  return {};
}

void Link::send(FrameKind kind, Label label, std::span<const std::byte> payload, Transfer* done) {
  Outgoing frame{make_header(terms_, kind, next_out_++, label, payload.size()), payload, {}, done};
  const bool written_whole = queue_.empty() && may_write() && write(frame);
  const std::size_t sent = frame.sent;
  try {
    if (written_whole) return written(frame);
    if (done == nullptr && !payload.empty()) frame.copy_payload();
    queue_.push_back(std::move(frame));
    backlog_ += size_of(queue_.back());
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
  for (std::deque<Outgoing>* frames : {&queue_, &kept_}) {
    const auto frame = std::ranges::find(*frames, &transfer, &Outgoing::done);
    if (frame == frames->end()) continue;
    frame->copy_payload();
    std::exchange(frame->done, nullptr)->state = Transfer::State::failed;
    return;
  }
}

// Frames go out one after another, so only the frame at the front uses the seal. Only what is about
// to be written is sealed, so that it is in the cache when the stream copies it.
void Link::seal_more(Outgoing& frame) {
  const std::span<const std::byte> payload = frame.payload;
  const std::size_t trailer = trailer_bytes(terms_, payload.size());
  std::size_t sealed = payload.size();
  if (frame.ready == 0) {
    frame.header.flags = terms_.flags();    // an earlier stream may have had others
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
  return true;
}

// The frame has been written as a whole. May throw bad_alloc; the frame is as it was then.
void Link::written(Outgoing& frame) {
  Transfer* const done = frame.done;
  if (heals_) {
    const bool copies = done == nullptr || frame.payload.size() <= copy_max_;
    if (copies && frame.owned.empty() && !frame.payload.empty()) frame.copy_payload();
    if (copies) frame.done = nullptr;
    try {
      kept_.push_back(std::move(frame));
    } catch (...) {
      frame.done = done;
      throw;
    }
    if (!copies) return;
  }
  finish(done);
}

bool Link::write_resume() {
  if (!resume_) return true;
  if (!write(*resume_)) return false;
  resume_.reset();
  return true;
}

bool Link::flush() {
  if (stream_ == nullptr || !wants_write()) return false;
  const std::uint64_t before = bytes_out_;
  if (write_resume() && may_write()) {
    while (!queue_.empty() && write(queue_.front())) {
      const std::size_t size = size_of(queue_.front());
      written(queue_.front());
      queue_.pop_front();
      backlog_ -= size;
    }
  }
  update_want();
  return bytes_out_ != before;
}

void Link::update_want() {
  if (stream_ == nullptr) return;
  const bool want = wants_write();
  if (want == want_write_) return;
  want_write_ = want;
  stream_->want_write(want);
}

Link::Pumped Link::pump(FrameSink& sink) {
  Pumped result;
  if (stream_ == nullptr || !bad_.ok()) {
    result.why = bad_;
    return result;
  }
  bool at_end = false;
  for (std::size_t budget = kPumpBytes; budget > 0;) {
    const bool again = header_waits();
    const std::size_t n = again ? 0 : stream_->read(wanted());
    if (n == 0 && !again) {
      if (at_end) {
        result.ended = true;
        result.closed = stream_->closed_by_peer();
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
      bad_ = result.why = std::move(status);
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
  return got_ < kFrameHeaderBytes ? Status() : header_arrived(sink);
}

Status Link::header_arrived(FrameSink& sink) {
  Status status = check_header(terms_, *in_seal_, incoming_,
                               awaits_resume_ ? kResumeSequence : next_in_);
  if (!status.ok()) return status;
  if (awaits_resume_) return resume_arrived();
  if (std::exchange(placed_, false)) {
    const bool same = incoming_.kind == begun_.kind && incoming_.tag == begun_.tag &&
                      incoming_.identity == begun_.identity && incoming_.length == begun_.length;
    if (!same) {
      return Status(Code::corrupted, cat("frame ", next_in_, " came again as another frame"));
    }
  } else if (carries_payload(incoming_.kind)) {
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
  if (heals_) {
    unconfirmed_ += incoming_.length;
    owes_much_ |= incoming_.length > copy_max_ || unconfirmed_ >= kUnconfirmedBytesMax ||
                  received() - told_received_ >= kUnconfirmedFramesMax;
  }
  sink.deliver(terms_.lane, incoming_);
}

void Link::redirect(std::byte* to) {
  UNISONO_CHECK(part_ != Part::header || placed_);
  const std::size_t here = part_ == Part::header ? 0
                           : part_ == Part::payload ? got_
                                                    : static_cast<std::size_t>(incoming_.length);
  if (here > 0) std::memcpy(to, payload_, here);
  payload_ = to;
}

void Link::close() {
  closed_ = true;
  stream_.reset();
  for (std::deque<Outgoing>* frames : {&queue_, &kept_}) {
    for (Outgoing& frame : *frames) {
      if (frame.done != nullptr) frame.done->state = Transfer::State::failed;
    }
    frames->clear();
  }
  backlog_ = 0;
  resume_.reset();
}

}  // namespace unisono::transport
