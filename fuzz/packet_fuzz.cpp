// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Packets of encoded tensors: whatever arrives is refused or decoded, and nothing is read or written
// outside of it; the saved state of codecs likewise.
#include <cstring>

#include "encode/packet/packet_codec.hpp"
#include "target.hpp"

namespace unisono::fuzz {
namespace {

constexpr const char* kCodecTexts[] = {"none", "fp16", "fp8:e5m2", "qsgd:2", "qsgd:4", "ef|qsgd:8",
                                       "powersgd:2", "ef|topk:512:4|qsgd:4", "topk:64:3|bf16",
                                       "topk:global:0.1", "threshold:0.5|fp8"};
constexpr std::size_t kCounts[] = {0, 1, 100, 512, 1500, 3000};

Shape shape_of(std::size_t count) {
  const auto n = static_cast<std::int64_t>(count);
  return n >= 100 ? Shape{10, n / 10} : Shape{n};
}

Bytes packed(std::uint8_t codec, std::uint8_t count, bool repair) {
  const std::size_t n = kCounts[count];
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i % 7) - 3.0F;
  const auto coder =
      encode::make_packet_codec(parse_codec(kCodecTexts[codec]).value());
  encode::TensorMemory memory;
  std::vector<std::byte> packet;
  const Status status = coder->encode({.tensor = "t", .dtype = DType::f32, .elements = &values,
                                       .count = 0, .shape = shape_of(0)},
                                      memory, packet);
  must(status.ok(), "nothing can be encoded");
  if (n != 0) {
    must(coder->encode({.tensor = "t", .dtype = DType::f32, .elements = values.data(), .count = n,
                        .shape = shape_of(n)},
                       memory, packet)
             .ok(),
         "numbers can be encoded");
  }
  Bytes bytes{std::byte(codec), std::byte(count), std::byte{repair ? std::uint8_t{1} : std::uint8_t{0}}};
  bytes.insert(bytes.end(), packet.begin(), packet.end());
  return bytes;
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  Choices choices(bytes);
  const auto codec = encode::make_packet_codec(
      parse_codec(kCodecTexts[choices.below(std::size(kCodecTexts))]).value());
  const std::size_t count = kCounts[choices.below(std::size(kCounts))];
  const bool repair = choices.below(2) == 1;
  const auto rest = choices.rest();
  std::vector<std::byte> packet(rest.begin(), rest.end());
  if (repair && packet.size() >= encode::kPacketHeaderBytes) {
    // The fields of the input under a check that holds.
    ByteReader in(packet);
    in.get_raw(5);
    encode::PacketHeader header;
    header.pick = in.get<CodecPick>();
    header.form.form = in.get<CodecForm>();
    header.form.bits = in.get<std::uint8_t>();
    header.count = in.get<std::uint64_t>();
    header.picks = in.get<std::uint64_t>();
    header.bucket = in.get<std::uint32_t>();
    header.k = in.get<std::uint32_t>();
    header.step = in.get<std::uint32_t>();
    encode::write_header(header, packet.data());
  }
  std::vector<float> out(count, 7.0F);
  const Status status = codec->decode_add(packet, shape_of(count), out);
  if (!status.ok()) must(out == std::vector<float>(count, 7.0F), "a refused packet was added");

  encode::Feedback feedback;
  feedback.of("kept").residual = {1.0F};
  if (feedback.load(rest).ok()) {
    encode::Feedback again;
    must(again.load(feedback.save()).ok(), "what was loaded cannot be saved");
  } else {
    must(feedback.find("kept") != nullptr, "a refused state replaced what was kept");
  }
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> all;
  for (std::uint8_t codec = 0; codec < std::size(kCodecTexts); ++codec) {
    all.push_back(packed(codec, 4, codec % 2 == 0));
  }
  all.push_back(packed(0, 0, false));
  return all;
}

}  // namespace unisono::fuzz
