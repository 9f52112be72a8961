// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "encode/codec_rate.hpp"

#include <algorithm>
#include <vector>

namespace unisono::encode {

double seconds_per_byte(const Codec& codec, DType dtype, const Clock& clock) {
  constexpr std::size_t kBytes = 64 << 10;
  constexpr int kTries = 8;
  constexpr Nanos kLongest{1'000'000};
  const std::size_t count = kBytes / size_of(dtype);
  std::vector<std::byte> elements(kBytes), wire(codec.wire_bytes(dtype, count));
  constexpr std::string_view kName = "unisono.codec_rate";
  const EncodePart in{.tensor = kName, .dtype = dtype, .elements = elements.data(), .count = count,
                      .wire = wire.data()};
  const DecodePart out{.tensor = kName, .dtype = dtype, .wire = wire.data(), .count = count,
                       .elements = elements.data()};
  Nanos best{0};
  const Time begin = clock.now();
  Time last = begin;
  for (int i = 0; i < kTries && last - begin < kLongest; ++i) {
    codec.encode(in);
    codec.decode(out);
    const Time now = clock.now();
    // The first also touches memory for the first time.
    best = i == 0 ? now - last : std::min(best, now - last);
    last = now;
  }
  return static_cast<double>(std::max<std::int64_t>(best.count(), 0)) * 1e-9 /
         static_cast<double>(kBytes);
}

}  // namespace unisono::encode
