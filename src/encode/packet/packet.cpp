// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "encode/packet/packet.hpp"

#include <cstring>

#include "base/data/bytes.hpp"
#include "base/data/hash.hpp"
#include "base/data/text.hpp"
#include "kernels/pick/pick.hpp"

namespace unisono::encode {
namespace {

constexpr std::uint32_t kMagic = 0x4B504355;  // "UCPK"
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kCheckedBytes = kPacketHeaderBytes - sizeof(std::uint32_t);
// Sizes computed from any header stay far below what overflows.
constexpr std::uint64_t kCountMax = std::uint64_t{1} << 40;

std::uint32_t check_of(std::span<const std::byte> header) {
  return static_cast<std::uint32_t>(hash_bytes(header.first(kCheckedBytes)));
}

Status corrupted(std::string_view why) {
  return Status(Code::corrupted, cat("an encoded tensor that arrived ", why,
                                     "; run the same version everywhere"));
}

template <typename T>
T at(const std::byte* bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof value, sizeof value);
  return value;
}

// An absent rank sends no picks at all.
bool has_right_picks(const PacketHeader& h, const CodecSpec& codec) {
  switch (h.pick) {
    case CodecPick::all: return h.picks == h.count && (h.form.form == CodecForm::powersgd || h.k == 0);
    case CodecPick::bucket:
      return h.bucket == codec.bucket && h.k >= codec.k && h.k <= codec.bucket &&
             (h.picks == 0 || h.picks == kernels::bucket_picks(h.count, h.bucket, h.k));
    default: return h.picks <= h.count && h.bucket == 0 && h.k == 0;
  }
}

bool has_right_factors(const PacketHeader& h, const CodecSpec& codec, std::uint32_t rows) {
  if (h.form.form != CodecForm::powersgd) return true;
  return h.bucket == rows && h.k == codec.rank && rows > 0 && h.count % rows == 0;
}

}  // namespace

std::uint64_t PacketHeader::index_bytes() const {
  if (pick == CodecPick::all) return 0;
  return picks * (pick == CodecPick::bucket ? sizeof(std::uint16_t) : sizeof(std::uint32_t));
}

std::uint64_t PacketHeader::payload_bytes() const {
  if (form.form == CodecForm::powersgd) {
    return bucket == 0 ? 0 : (bucket + count / bucket) * k * sizeof(float);
  }
  return index_bytes() + form.bytes(picks);
}

void write_header(const PacketHeader& header, std::byte* out) {
  ByteWriter bytes;
  bytes.put(kMagic);
  bytes.put(kVersion);
  bytes.put(header.pick);
  bytes.put(header.form.form);
  bytes.put(static_cast<std::uint8_t>(header.form.bits));
  bytes.put(header.count);
  bytes.put(header.picks);
  bytes.put(header.bucket);
  bytes.put(header.k);
  bytes.put(header.step);
  std::memcpy(out, bytes.bytes().data(), kCheckedBytes);
  const std::uint32_t check = check_of({out, kPacketHeaderBytes});
  std::memcpy(out + kCheckedBytes, &check, sizeof check);
}

Result<PacketHeader> read_header(std::span<const std::byte> packet, const CodecSpec& codec,
                                 std::uint64_t count, std::uint32_t rows) {
  if (packet.size() < kPacketHeaderBytes) return corrupted("is shorter than its header");
  ByteReader in(packet.first(kPacketHeaderBytes));
  const bool known = in.get<std::uint32_t>() == kMagic && in.get<std::uint8_t>() == kVersion;
  PacketHeader h;
  h.pick = in.get<CodecPick>();
  h.form.form = in.get<CodecForm>();
  h.form.bits = in.get<std::uint8_t>();
  h.count = in.get<std::uint64_t>();
  h.picks = in.get<std::uint64_t>();
  h.bucket = in.get<std::uint32_t>();
  h.k = in.get<std::uint32_t>();
  h.step = in.get<std::uint32_t>();
  if (!known || in.get<std::uint32_t>() != check_of(packet)) return corrupted("has a broken header");
  const bool dense_vector = codec.form == CodecForm::powersgd && h.form.form == CodecForm::none;
  if (h.count != count || h.pick != codec.pick ||
      (h.form != ValueForm{codec.form, codec.bits} && !dense_vector)) {
    return Status(Code::mismatch,
                  cat("an encoded tensor of ", h.count, " elements arrived where one of ", count,
                      " elements by '", codec.text(), "' is expected; run the same program "
                      "everywhere"));
  }
  if (h.count > kCountMax || !has_right_picks(h, codec) || !has_right_factors(h, codec, rows) ||
      h.bytes() != packet.size()) {
    return corrupted("contradicts itself");
  }
  return h;
}

Status check_indices(const PacketHeader& h, std::span<const std::byte> packet) {
  const std::byte* indices = packet.data() + kPacketHeaderBytes;
  if (h.pick == CodecPick::all) return {};
  std::uint64_t least = 0;                  // the smallest index that may come next
  for (std::uint64_t i = 0; i < h.picks; ++i) {
    std::uint64_t index = 0;
    if (h.pick == CodecPick::bucket) {
      const std::uint64_t begin = i / h.k * h.bucket, place = at<std::uint16_t>(indices, i);
      if (place >= h.bucket) return corrupted("has an index outside of its bucket");
      least = std::max(least, begin);
      index = begin + place;
    } else {
      index = at<std::uint32_t>(indices, i);
    }
    if (index < least || index >= h.count) return corrupted("has indices out of order");
    least = index + 1;
  }
  return {};
}

}  // namespace unisono::encode
