// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Packets of sparse streams: what is read is written to a stream that is read as the same again.
#include <cstring>

#include "stream/packet.hpp"
#include "target.hpp"

namespace unisono::fuzz {
namespace {

constexpr std::uint64_t kLengths[] = {0,      1,       63,      64,
                                      1000,   65'536,  65'537,  200'000,
                                      1 << 24, std::uint64_t{1} << 32, (std::uint64_t{1} << 32) + 1,
                                      kStreamLengthMax};

stream::Expected expectation(unsigned dtype, unsigned length) {
  stream::Expected expected;
  expected.dtype = static_cast<DType>(dtype % kDTypeCount);
  expected.partial_dtype = expected.op.working_dtype(expected.dtype);
  expected.length = kLengths[length % std::size(kLengths)];
  return expected;
}

// With a header whose check is right, or the fuzzer would never come behind it.
Bytes packed(unsigned dtype, unsigned length, const std::vector<std::uint64_t>& indices) {
  const stream::Expected expected = expectation(dtype, length);
  const std::vector<std::byte> values(indices.size() * 8, std::byte{1});
  const auto in = stream::Stream::from_pairs(expected.dtype, expected.length, indices,
                                             values.data());
  const stream::Packet packet = stream::write_packet(in.value().view(), {}, 0, 0);
  Bytes bytes{std::byte(dtype), std::byte(length), std::byte{0}};
  bytes.insert(bytes.end(), packet.header.begin(), packet.header.end());
  bytes.insert(bytes.end(), packet.payload.begin(), packet.payload.end());
  return bytes;
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  Choices choices(bytes);
  const unsigned dtype = choices.byte(), length = choices.byte();
  const bool repair = choices.below(2) == 1;
  const stream::Expected expected = expectation(dtype, length);
  const auto front = choices.take(kStreamHeaderBytes);
  stream::HeaderBytes raw{};
  std::copy(front.begin(), front.end(), raw.begin());
  if (repair) {
    // The fields of the input under a check that holds.
    stream::Header header;
    ByteReader in(front);
    header.format = static_cast<StreamFormat>(in.get<std::uint8_t>());
    header.dtype = static_cast<DType>(in.get<std::uint8_t>());
    header.index_bytes = in.get<std::uint8_t>();
    header.length = expected.length;
    header.nnz = in.get<std::uint64_t>();
    header.payload_bytes = in.get<std::uint64_t>();
    if (choices.below(2) == 1 && header.nnz <= header.length &&
        header.dtype <= DType::boolean) {
      header.payload_bytes = stream_payload_bytes(header.format, header.length, header.nnz,
                                                  size_of(header.dtype));
    }
    raw = stream::write_header(header, {});
  }
  const auto header = stream::read_header(raw, expected);
  if (!header.ok()) return;
  must(header.value().nnz <= expected.length, "more elements than the segment has");
  const auto rest = choices.rest();
  stream::Array<std::byte> payload(rest.size());
  if (!rest.empty()) std::memcpy(payload.data(), rest.data(), rest.size());
  stream::Scratch scratch;
  const auto view = stream::read_payload(header.value(), payload, scratch);
  if (!view.ok()) return;
  const auto copy = stream::Stream::copy_of(view.value());
  const stream::Packet again = stream::write_packet(copy.view(), {}, 0, 0);
  const auto second = stream::read_header(again.header, expected);
  must(second.ok(), "what was read cannot be written");
  stream::Scratch more;
  const auto same = stream::read_payload(second.value(), again.payload, more);
  must(same.ok(), "what was written cannot be read");
  // The shortest form may be the dense one, which has the neutral element where nothing was.
  if (same.value().dense != copy.dense()) return;
  must(stream::same(stream::Stream::copy_of(same.value()), copy), "a stream reads as another");
}

std::vector<Bytes> seeds() {
  std::vector<std::uint64_t> many;
  for (std::uint64_t i = 0; i < 500; ++i) many.push_back(2 * i);
  std::vector<std::uint64_t> few = {3, 65'535, 65'536};
  return {packed(0, 4, {1, 2, 999}), packed(0, 4, many), packed(3, 7, few), packed(9, 10, few),
          packed(0, 6, many),        packed(6, 4, many), packed(0, 1, {0}), packed(0, 0, {})};
}

}  // namespace unisono::fuzz
