// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mesh/frame.hpp"

#include "base/data/text.hpp"

namespace unisono::transport {
namespace {
FrameCheck check_of(FrameSeal& seal, const FrameHeader& header, std::uint64_t sequence) {
  const auto bytes = std::as_bytes(std::span(&header, 1));
  return seal.header(sequence, bytes.first(kFrameHeaderBytes - kCheckBytes));
}

Status corrupted(std::string what) { return Status(Code::corrupted, std::move(what)); }

bool allowed(LaneKind lane, FrameKind kind) {
  switch (kind) {
    case FrameKind::data: return lane == LaneKind::data;
    case FrameKind::goodbye:
    case FrameKind::resume: return true;
    case FrameKind::message:
    case FrameKind::beat:
    case FrameKind::complaint:
    case FrameKind::goodbye_ack: return lane == LaneKind::control;
  }
  return false;
}

std::uint64_t length_limit(FrameKind kind) {
  if (kind == FrameKind::message) return kMessageBytesMax;
  if (kind == FrameKind::complaint) return kComplaintBytesMax;
  return kind == FrameKind::data ? kDataBytesMax : 0;
}
}  // namespace

bool carries_payload(FrameKind kind) { return length_limit(kind) > 0; }

std::size_t trailer_bytes(const LaneTerms& terms, std::uint64_t length) {
  return terms.check_payload && length > 0 ? kCheckBytes : 0;
}

FrameHeader make_header(const LaneTerms& terms, FrameKind kind, std::uint64_t sequence,
                        Label label, std::size_t length) {
  FrameHeader header;
  header.kind = kind;
  header.flags = terms.flags();
  header.epoch = terms.epoch;
  header.sequence = sequence;
  header.tag = label.tag;
  header.identity = label.identity;
  header.length = length;
  return header;
}

void seal_header(FrameSeal& seal, FrameHeader& header) {
  header.check = check_of(seal, header, header.sequence);
}

Status check_header(const LaneTerms& terms, FrameSeal& seal, const FrameHeader& header,
                    std::uint64_t sequence) {
  if (header.magic != FrameHeader::kMagic) return corrupted("bytes that are no frame");
  // The epoch is compared before the check: a rank of another epoch also has other keys, and this
  // gives the clearer message. Nothing of the frame is used in either case.
  if (header.epoch != terms.epoch) {
    return corrupted(cat("a frame of epoch ", header.epoch, " in epoch ", terms.epoch));
  }
  if (!same_check(header.check, check_of(seal, header, sequence))) {
    return corrupted(cat("frame ", sequence, " has a header that fails its check"));
  }
  if (header.sequence != sequence) {
    return corrupted(cat("frame ", header.sequence, " where frame ", sequence, " is due"));
  }
  if (!allowed(terms.lane, header.kind) ||
      (header.kind == FrameKind::resume) != (sequence == kResumeSequence)) {
    return corrupted(cat("a frame of kind ", static_cast<int>(header.kind), " on the ",
                         terms.lane == LaneKind::data ? "data" : "control", " lane"));
  }
  if (header.length > length_limit(header.kind)) {
    return corrupted(cat("a frame of ", header.length, " bytes; the limit of its kind is ",
                         length_limit(header.kind)));
  }
  if (header.flags != terms.flags()) {
    return corrupted(cat("frame ", sequence,
                         " does not say as agreed whether its payload is checked or encrypted"));
  }
  return {};
}

}  // namespace unisono::transport
