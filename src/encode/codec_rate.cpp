// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "encode/codec_rate.hpp"

#include <algorithm>
#include <vector>

#include "encode/packet/packet_codec.hpp"

namespace unisono::encode {

namespace {

constexpr std::size_t kRateBytes = 64 << 10;
constexpr std::string_view kRateName = "unisono.codec_rate";

template <typename Work>
double best_per_byte(const Clock& clock, Work work) {
  constexpr int kTries = 8;
  constexpr Nanos kLongest{1'000'000};
  Nanos best{0};
  const Time begin = clock.now();
  Time last = begin;
  for (int i = 0; i < kTries && last - begin < kLongest; ++i) {
    work();
    const Time now = clock.now();
    // The first also touches memory for the first time.
    best = i == 0 ? now - last : std::min(best, now - last);
    last = now;
  }
  return static_cast<double>(std::max<std::int64_t>(best.count(), 0)) * 1e-9 /
         static_cast<double>(kRateBytes);
}

}  // namespace

double seconds_per_byte(const Codec& codec, DType dtype, const Clock& clock) {
  const std::size_t count = kRateBytes / size_of(dtype);
  std::vector<std::byte> elements(kRateBytes), wire(codec.wire_bytes(dtype, count));
  const EncodePart in{.tensor = kRateName, .dtype = dtype, .elements = elements.data(),
                      .count = count, .wire = wire.data()};
  const DecodePart out{.tensor = kRateName, .dtype = dtype, .wire = wire.data(), .count = count,
                       .elements = elements.data()};
  return best_per_byte(clock, [&] {
    codec.encode(in);
    codec.decode(out);
  });
}

double seconds_per_byte(const CodecSpec& codec, DType dtype, const Clock& clock) {
  const std::size_t count = kRateBytes / size_of(dtype);
  const std::vector<std::byte> elements(kRateBytes);
  const Source source{.tensor = kRateName, .dtype = dtype, .elements = elements.data(),
                      .count = count, .shape = {static_cast<std::int64_t>(count)}};
  const auto packer = make_packet_codec(codec);
  std::vector<std::byte> packet;
  std::vector<float> sum(count);
  TensorMemory memory;
  return best_per_byte(clock, [&] {
    static_cast<void>(packer->encode(source, memory, packet));
    for (int i = 0; i < 2; ++i) static_cast<void>(packer->decode_add(packet, source.shape, sum));
  });
}

}  // namespace unisono::encode
