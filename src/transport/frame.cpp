// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/frame.hpp"

#include "base/hash.hpp"
#include "base/text.hpp"

namespace unisono {
namespace {
std::uint64_t frame_seed(const LaneTerms& terms, std::uint64_t sequence) {
  // The lane's own constant keeps a frame of one lane from passing on the other.
  const std::uint64_t lane = terms.lane == LaneKind::data ? 0x9E3779B97F4A7C15ull : 0;
  return terms.seed ^ lane ^ sequence;
}

std::uint64_t header_check(const LaneTerms& terms, const FrameHeader& header,
                           std::uint64_t sequence) {
  const auto bytes = std::as_bytes(std::span(&header, 1));
  return hash_bytes(bytes.first(kFrameHeaderBytes - sizeof header.header_check),
                    frame_seed(terms, sequence));
}

Status corrupted(std::string what) { return Status(Code::corrupted, std::move(what)); }

bool allowed(LaneKind lane, FrameKind kind) {
  switch (kind) {
    case FrameKind::data: return lane == LaneKind::data;
    case FrameKind::goodbye: return true;
    case FrameKind::message:
    case FrameKind::beat:
    case FrameKind::complaint:
    case FrameKind::farewell: return lane == LaneKind::control;
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

FrameHeader make_header(const LaneTerms& terms, FrameKind kind, std::uint64_t sequence,
                        Label label, std::span<const std::byte> payload) {
  FrameHeader header;
  header.kind = kind;
  header.epoch = terms.epoch;
  header.sequence = sequence;
  header.tag = label.tag;
  header.identity = label.identity;
  header.length = payload.size();
  if (terms.check_payload) {
    header.flags = FrameHeader::kPayloadChecked;
    header.payload_check = hash_bytes(payload, frame_seed(terms, sequence));
  }
  header.header_check = header_check(terms, header, sequence);
  return header;
}

Status check_header(const LaneTerms& terms, const FrameHeader& header, std::uint64_t sequence) {
  if (header.magic != FrameHeader::kMagic) return corrupted("bytes that are no frame");
  // The epoch comes before the check: a rank of another epoch has other seeds, too, and deserves
  // the clearer message. Nothing of the frame is used either way.
  if (header.epoch != terms.epoch) {
    return corrupted(cat("a frame of epoch ", header.epoch, " in epoch ", terms.epoch));
  }
  if (header.header_check != header_check(terms, header, sequence)) {
    return corrupted(cat("frame ", sequence, " has a header that fails its check"));
  }
  if (header.sequence != sequence) {
    return corrupted(cat("frame ", header.sequence, " where frame ", sequence, " is due"));
  }
  if (!allowed(terms.lane, header.kind)) {
    return corrupted(cat("a frame of kind ", static_cast<int>(header.kind), " on the ",
                         terms.lane == LaneKind::data ? "data" : "control", " lane"));
  }
  if (header.length > length_limit(header.kind)) {
    return corrupted(cat("a frame of ", header.length, " bytes; the limit of its kind is ",
                         length_limit(header.kind)));
  }
  if (terms.check_payload && (header.flags & FrameHeader::kPayloadChecked) == 0) {
    return corrupted(cat("frame ", sequence, " carries no check of its payload"));
  }
  return {};
}

Status check_payload(const LaneTerms& terms, const FrameHeader& header,
                     std::span<const std::byte> payload) {
  if ((header.flags & FrameHeader::kPayloadChecked) == 0) return {};
  if (header.payload_check == hash_bytes(payload, frame_seed(terms, header.sequence))) return {};
  return corrupted(cat("frame ", header.sequence, " of ", header.length,
                       " bytes has a payload that fails its check"));
}

}  // namespace unisono
