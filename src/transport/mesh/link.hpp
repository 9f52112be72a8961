// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One framed lane over a Stream: a queue of frames going out, a parser of frames coming in.
// Data is sent from the caller's memory and received into it; messages that do not fit at once are
// copied. A frame that fails a check is never delivered, and nothing after it is read.
// Thread: the one that drives the engine.
#pragma once

#include <deque>
#include <memory>
#include <span>
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
  struct Pumped {
    bool moved = false;
    bool ended = false;  // the stream is at its end
    Status why;          // why it ended, or what was wrong with a frame
  };

  // Payloads are checked unless the stream says that it keeps bytes as they are.
  Link(std::unique_ptr<Stream> stream, LaneKind lane, std::uint32_t epoch,
       const LaneSecret& secret);

  // Writes what the stream takes and queues the rest. With `done`, the payload must stay valid
  // until the transfer is done; without it, the payload is copied.
  void send(FrameKind kind, Label label, std::span<const std::byte> payload, Transfer* done);
  // Lets a queued payload go out from a copy, and fails its transfer. May throw bad_alloc; nothing
  // has changed then.
  void abandon(const Transfer& transfer);
  // Writes what was queued; returns true when bytes went out.
  bool flush();
  bool idle() const { return queue_.empty(); }
  // Reads and delivers what is there, at most about a megabyte so that no lane starves another.
  Pumped pump(FrameSink& sink);
  // Moves the payload that is arriving to another buffer of the same length.
  void redirect(std::byte* to);
  bool ready() const { return open() && (header_waits() || stream_->ready(!queue_.empty())); }
  void finish_writing() { stream_->finish_writing(); }
  // Closes the stream and fails the queued transfers.
  void close();
  bool open() const { return stream_ != nullptr; }

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
  };
  // A whole header found no memory for its payload last time; there may be some now.
  bool header_waits() const { return part_ == Part::header && got_ == kFrameHeaderBytes; }
  bool write(Outgoing& frame);
  void seal_more(Outgoing& frame);
  void update_want();
  std::span<std::byte> wanted();
  Status arrived(FrameSink& sink, std::size_t bytes);
  Status payload_arrived(FrameSink& sink, std::size_t bytes);
  Status check_trailer() const;
  std::span<const std::byte> sealed_payload(const Outgoing& frame) const;
  void deliver(FrameSink& sink);

  std::unique_ptr<Stream> stream_;
  LaneTerms terms_;
  std::unique_ptr<FrameSeal> out_seal_, in_seal_;  // out_seal_ works on the front of the queue
  std::deque<Outgoing> queue_;
  // What of the front frame's payload was encrypted last, and where in the payload that begins.
  std::unique_ptr<std::byte[]> encrypted_;
  std::size_t encrypted_from_ = 0, encrypted_bytes_ = 0;
  std::uint64_t next_out_ = 0, next_in_ = 0;
  std::uint64_t bytes_out_ = 0, bytes_in_ = 0;
  bool want_write_ = false;

  FrameHeader incoming_;
  std::byte* payload_ = nullptr;
  FrameCheck trailer_{};
  std::size_t got_ = 0;    // bytes of the part that is arriving
  enum class Part : std::uint8_t { header, payload, trailer } part_ = Part::header;
};

}  // namespace unisono::transport
