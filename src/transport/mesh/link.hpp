// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One framed lane over a Stream: a queue of frames going out, a parser of frames coming in.
// Data is sent from the caller's memory and received into it; messages that do not fit at once are
// copied. A frame that fails a check is never delivered, and nothing after it is read.
//
// A lane outlives its stream: it may wait for its first one, or get another one when one broke. A
// lane that heals keeps what it has sent until the peer has acknowledged it. On a new stream both
// ends first say how many frames have arrived whole (resume); the rest is sent again, from the
// beginning of a frame, under the keys of the new stream. So nothing is lost or delivered twice.
// Thread: one at a time, whoever drives the lane.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/mesh/frame.hpp"
#include "transport/stream.hpp"
#include "transport/transport.hpp"

namespace unisono::transport {

// Where the frames of a lane go.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // A header has arrived and passed its check. Returns where to put its payload. Not called for
  // kinds of frames that never have a payload.
  virtual Result<std::byte*> place(const FrameHeader& header) = 0;
  // The whole frame has arrived and passed its checks.
  virtual void deliver(LaneKind lane, const FrameHeader& header) = 0;
};

class Link {
 public:
  // On a lane that heals, a payload up to this size is copied, so that its transfer is done when it is
  // written, as if nothing were kept: waiting for the peer's word would empty the wire. A larger one
  // is sent again from the caller's memory, so its transfer waits.
  static constexpr std::size_t kCopyMax = 1 << 20;

  struct Pumped {
    bool moved = false;
    bool ended = false;  // the stream is at its end
    Status why;          // why it ended, or what was wrong with a frame
    bool closed = false; // ended: the peer closed it, having read what was there
  };

  // Payloads are checked unless the stream says that it keeps bytes as they are. Without a stream
  // the link waits for one.
  Link(std::unique_ptr<Stream> stream, LaneKind lane, std::uint32_t epoch,
       const LaneSecret& secret, bool heals = false, std::size_t copy_max = kCopyMax);

  // Writes what the stream takes and queues the rest. With `done`, the payload must stay valid
  // until the transfer is done; without it, the payload is copied.
  void send(FrameKind kind, Label label, std::span<const std::byte> payload, Transfer* done);
  // Lets a queued payload go out from a copy, and fails its transfer. May throw bad_alloc; nothing
  // has changed then.
  void abandon(const Transfer& transfer);
  // Writes what was queued; returns true when bytes went out.
  bool flush();
  bool idle() const { return queue_.empty(); }
  // Bytes of the frames that are queued, and what the sends so far have come to.
  std::size_t backlog() const { return backlog_; }
  std::uint64_t sends_done() const { return sends_done_; }
  // Reads and delivers what is there, at most about a megabyte so that no lane starves another.
  Pumped pump(FrameSink& sink);
  // Moves the payload that is arriving to another buffer of the same length.
  void redirect(std::byte* to);
  bool ready() const {
    return stream_ != nullptr && (header_waits() || stream_->ready(wants_write()));
  }
  void finish_writing() {
    if (stream_ != nullptr) stream_->finish_writing();
  }
  // Closes the stream and fails the queued transfers. Nothing can be sent any more.
  void close();
  bool open() const { return !closed_; }

  // Takes a new stream, which has keys of its own, in place of the one it has or had.
  void attach(std::unique_ptr<Stream> stream, const LaneSecret& secret);
  // Lets go of a stream that broke, and waits for another one.
  void detach();
  bool has_stream() const { return stream_ != nullptr; }
  // Whether the peer has said on this stream how many frames have arrived there.
  bool resumed() const { return stream_ != nullptr && !awaits_resume_; }

  // The peer has this many frames whole; they need not be kept. Returns corrupted when it cannot.
  Status acknowledged(std::uint64_t frames);
  // How many frames the stream has taken as a whole.
  std::uint64_t frames_written() const;
  // How many frames have arrived whole.
  std::uint64_t received() const { return next_in_ - (part_ == Part::header ? 0 : 1); }
  // Whether the peer should hear soon how many: somebody waits for it, or much is kept there.
  bool owes_much() const { return owes_much_; }
  bool owes() const { return received() != told_received_; }
  void told_received() {
    told_received(received());
    unconfirmed_ = 0;
    owes_much_ = false;
  }
  // For an owner who tells the peer later than it asks: whether the peer should hear soon, said once,
  // and how much it has been told by then.
  bool take_owes_much() {
    if (owes_much_) unconfirmed_ = 0;
    return std::exchange(owes_much_, false);
  }
  void told_received(std::uint64_t frames) { told_received_ = frames; }

  Stream* stream() { return stream_.get(); }
  std::uint64_t bytes_out() const { return bytes_out_; }
  std::uint64_t bytes_in() const { return bytes_in_; }

 private:
  struct Outgoing {
    FrameHeader header;
    std::span<const std::byte> payload;
    std::vector<std::byte> owned;
    Transfer* done = nullptr;
    // Bytes of header, payload and trailer together: sealed so far, and written so far.
    std::size_t ready = 0, sent = 0;
    FrameCheck trailer{};

    void copy_payload() {
      owned.assign(payload.begin(), payload.end());
      payload = owned;
    }
  };
  // A whole header found no memory for its payload last time; there may be some now.
  bool header_waits() const { return part_ == Part::header && got_ == kFrameHeaderBytes; }
  bool may_write() const { return stream_ != nullptr && !awaits_resume_ && !resume_; }
  bool wants_write() const { return resume_.has_value() || (may_write() && !queue_.empty()); }
  void use(std::unique_ptr<Stream> stream, const LaneSecret& secret);
  static std::size_t size_of(const Outgoing& frame) {
    return kFrameHeaderBytes + frame.payload.size();
  }
  void finish(Transfer* done) {
    if (done == nullptr) return;
    done->state = Transfer::State::done;
    ++sends_done_;
  }
  static void rewind(Outgoing& frame);
  bool write(Outgoing& frame);
  void written(Outgoing& frame);
  bool write_resume();
  void seal_more(Outgoing& frame);
  void update_want();
  std::span<std::byte> wanted();
  Status arrived(FrameSink& sink, std::size_t bytes);
  Status header_arrived(FrameSink& sink);
  Status resume_arrived();
  Status payload_arrived(FrameSink& sink, std::size_t bytes);
  Status check_trailer() const;
  std::span<const std::byte> sealed_payload(const Outgoing& frame) const;
  void deliver(FrameSink& sink);

  std::unique_ptr<Stream> stream_;
  LaneTerms terms_;
  bool heals_, closed_ = false;
  std::size_t copy_max_;
  std::unique_ptr<FrameSeal> out_seal_, in_seal_;  // out_seal_ works on the front of the queue
  std::deque<Outgoing> queue_;
  std::deque<Outgoing> kept_;           // written, and not acknowledged yet
  std::size_t backlog_ = 0;             // of queue_, by size_of()
  std::uint64_t sends_done_ = 0;
  std::optional<Outgoing> resume_;      // goes out before everything else
  bool awaits_resume_ = false;
  // What of the front frame's payload was encrypted last, and where in the payload that begins.
  std::unique_ptr<std::byte[]> encrypted_;
  std::size_t encrypted_from_ = 0, encrypted_bytes_ = 0;
  std::uint64_t next_out_ = 0, next_in_ = 0;
  std::uint64_t bytes_out_ = 0, bytes_in_ = 0;
  bool want_write_ = false;

  Status bad_;                          // what was wrong with a frame: nothing is read behind it
  FrameHeader incoming_;
  std::byte* payload_ = nullptr;
  bool placed_ = false;    // the frame that comes next has begun to arrive on an earlier stream
  FrameHeader begun_;      // placed_: its header
  FrameCheck trailer_{};
  std::size_t got_ = 0;    // bytes of the part that is arriving
  enum class Part : std::uint8_t { header, payload, trailer } part_ = Part::header;
  std::uint64_t told_received_ = 0, unconfirmed_ = 0;  // unconfirmed_: bytes
  bool owes_much_ = false;
};

}  // namespace unisono::transport
