// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What every codec promises as a composition; one joins by its text in kCodecs.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "base/data/rng.hpp"
#include "encode/packet/packet_codec.hpp"
#include "kernels/kernels.hpp"
#include "kernels/quantise/quantise.hpp"

namespace unisono::encode {
namespace {

constexpr const char* kCodecs[] = {
    "none", "fp16", "bf16", "fp8:e4m3", "fp8:e5m2", "qsgd:2", "qsgd:4", "qsgd:8", "powersgd:2",
    "clip:0.5|qsgd:8", "topk:512:4", "topk:global:0.05", "threshold:0.5", "topk:512:4|fp16",
    "ef|fp16", "ef|bf16", "ef|qsgd:2", "ef|qsgd:4", "ef|fp8:e4m3", "ef|powersgd:2", "ef|clip:3|qsgd:4",
    "ef|topk:512:4", "ef|topk:512:1|qsgd:4", "ef|topk:64:16|fp16", "ef|topk:4096:7|fp8:e5m2",
    "ef:picked|topk:512:4|qsgd:4", "ef|topk:global:0.01", "ef|topk:global:0.01|qsgd:8",
    "ef|threshold:1.5|bf16", "ef|clip:10|topk:512:4|qsgd:4", "ef|momentum:0.9|topk:512:4",
    "ef|clip:1|momentum:0.5|warmup:3|topk:512:4|qsgd:4", "ef|warmup:4|topk:global:0.01",
};
// Some are multiples of nothing, one is a whole bucket of everything.
constexpr std::size_t kCounts[] = {0, 1, 2, 3, 7, 511, 512, 513, 1023, 1025, 4096, 5000, 12'345};

// Rows so that a low rank has something to do.
Shape shape_of(std::size_t count) {
  const auto n = static_cast<std::int64_t>(count);
  return n % 50 == 0 && n > 100 ? Shape{50, n / 50} : Shape{n};
}

std::vector<float> gradient(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> out(count);
  for (float& value : out) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += rng.uniform();
    value = static_cast<float>(sum);
  }
  return out;
}

class CodecContract : public testing::TestWithParam<const char*> {
 protected:
  CodecContract() : codec_(make_packet_codec(parse_codec(GetParam()).value())) {}

  Source source(const std::vector<float>& values, std::uint32_t owner = 3) const {
    return {.tensor = "layer", .dtype = DType::f32,
            .elements = values.empty() ? static_cast<const void*>(this) : values.data(),
            .count = values.size(), .shape = shape_of(values.size()), .prescale = 1.0,
            .owner = owner};
  }
  std::vector<std::byte> encode(const Source& from, TensorMemory& memory) const {
    std::vector<std::byte> packet;
    const Status status = codec_->encode(from, memory, packet);
    EXPECT_TRUE(status.ok()) << status.to_string();
    return packet;
  }
  std::vector<float> decode(const std::vector<std::byte>& packet, std::size_t count) const {
    std::vector<float> out(count, 0.0F);
    const Status status = codec_->decode_add(packet, shape_of(count), out);
    EXPECT_TRUE(status.ok()) << status.to_string();
    return out;
  }
  const CodecSpec& spec() const { return codec_->spec(); }
  CodecTraits traits() const { return traits_of(spec()); }

  std::unique_ptr<PacketCodec> codec_;
};
INSTANTIATE_TEST_SUITE_P(All, CodecContract, testing::ValuesIn(kCodecs), [](const auto& row) {
  std::string name;
  for (const char c : std::string(row.param)) name += std::isalnum(c) ? c : '_';
  return name;
});

// Over some steps nothing is lost and nothing is made up: what was sent and what is kept are
// together what came in.
TEST_P(CodecContract, WhatIsSentAndWhatIsKeptIsWhatCameIn) {
  if (!spec().feedback || spec().feedback_of_picks) return;  // loses by design
  if (spec().momentum != 0 || spec().clip != 0) return;      // sends another gradient; see below
  for (const std::size_t count : kCounts) {
    TensorMemory memory;
    std::vector<double> in(count, 0.0), out(count, 0.0);
    for (std::uint64_t step = 0; step < 8; ++step) {
      const auto g = gradient(count, 100 * count + step);
      const auto sent = decode(encode(source(g), memory), count);
      for (std::size_t i = 0; i < count; ++i) {
        in[i] += static_cast<double>(g[i]);
        out[i] += static_cast<double>(sent[i]);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      const double kept = memory.residual.empty() ? 0.0 : static_cast<double>(memory.residual[i]);
      ASSERT_NEAR(in[i], out[i] + kept, 2e-5) << i << " of " << count;
    }
  }
}

TEST_P(CodecContract, EveryLengthGoesThroughAndHasTheSizeThatFollowsFromIt) {
  for (const std::size_t count : kCounts) {
    std::size_t bytes = 0;
    for (std::uint64_t step = 0; step < 3; ++step) {
      TensorMemory memory;
      const auto packet = encode(source(gradient(count, step)), memory);
      EXPECT_EQ(memory.steps, 1u);
      decode(packet, count);
      if (traits().fixed_size && step > 0) {
        EXPECT_EQ(packet.size(), bytes) << count;
      }
      bytes = packet.size();
    }
  }
}

TEST_P(CodecContract, ZeroStaysZero) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{513}, std::size_t{5000}}) {
    TensorMemory memory;
    const std::vector<float> zero(count, 0.0F);
    EXPECT_EQ(decode(encode(source(zero), memory), count), zero);
    if (!traits().exact_zero) continue;
    auto some = gradient(count, 5);
    for (std::size_t i = 0; i < count; i += 3) some[i] = 0.0F;
    TensorMemory fresh;
    const auto sent = decode(encode(source(some), fresh), count);
    for (std::size_t i = 0; i < count; i += 3) ASSERT_EQ(sent[i], 0.0F) << i;
  }
}

TEST_P(CodecContract, DecodingAdds) {
  const std::size_t count = 5000;
  TensorMemory memory;
  const auto packet = encode(source(gradient(count, 1)), memory);
  const auto once = decode(packet, count);
  std::vector<float> sum = gradient(count, 2);
  const auto before = sum;
  ASSERT_TRUE(codec_->decode_add(packet, shape_of(count), sum).ok());
  for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(sum[i], before[i] + once[i], 1e-5);
}

TEST_P(CodecContract, TheSameBitsFromEveryThread) {
  const std::size_t count = 5000;
  const auto run = [&] {
    TensorMemory memory;
    std::vector<std::byte> all;
    for (std::uint64_t step = 0; step < 4; ++step) {
      const auto packet = encode(source(gradient(count, step)), memory);
      all.insert(all.end(), packet.begin(), packet.end());
    }
    const auto kept = std::as_bytes(std::span(memory.residual));
    all.insert(all.end(), kept.begin(), kept.end());
    return all;
  };
  const auto alone = run();
  std::vector<std::vector<std::byte>> others(4);
  std::vector<std::thread> threads;
  for (auto& other : others) threads.emplace_back([&] { other = run(); });
  for (auto& thread : threads) thread.join();
  for (const auto& other : others) EXPECT_EQ(other, alone);
}

TEST_P(CodecContract, EveryFloatTypeComesAsItsOwnFloat32) {
  const std::size_t count = 3000;
  for (const DType dtype : {DType::f64, DType::f16, DType::bf16}) {
    const auto g = gradient(count, 4);
    std::vector<std::byte> own(count * size_of(dtype));
    kernels::cast(dtype, own.data(), DType::f32, g.data(), count);
    std::vector<float> rounded(count);
    kernels::cast(DType::f32, rounded.data(), dtype, own.data(), count);
    Source typed = source(rounded);
    typed.dtype = dtype;
    typed.elements = own.data();
    TensorMemory a, b;
    EXPECT_EQ(encode(typed, a), encode(source(rounded), b)) << name_of(dtype);
    EXPECT_EQ(a, b);
  }
}

TEST_P(CodecContract, ThePrescaleComesFirst) {
  auto g = gradient(2000, 6);
  Source scaled = source(g);
  scaled.prescale = 0.5;
  auto half = g;
  for (float& value : half) value *= 0.5F;
  TensorMemory a, b;
  EXPECT_EQ(encode(scaled, a), encode(source(half), b));
}

TEST_P(CodecContract, WhatIsNoNumberIsRefusedBeforeAnythingIsTouched) {
  const std::size_t count = 3000;
  TensorMemory memory;
  encode(source(gradient(count, 1)), memory);
  const TensorMemory before = memory;
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{1777}, count - 1}) {
      auto g = gradient(count, 2);
      g[at] = bad;
      std::vector<std::byte> packet(3, std::byte{9});
      const Status status = codec_->encode(source(g), memory, packet);
      EXPECT_EQ(status.code(), Code::invalid_argument);
      EXPECT_NE(status.message().find("'layer'"), std::string::npos);
      EXPECT_EQ(memory, before);
      EXPECT_EQ(packet.size(), 3u);
    }
  }
  // Too large for float32 is none either.
  const std::vector<double> wide(10, 1e300);
  Source source = this->source(std::vector<float>(10, 1.0F));
  source.dtype = DType::f64;
  source.elements = wide.data();
  std::vector<std::byte> packet;
  EXPECT_FALSE(codec_->encode(source, memory, packet).ok());
  EXPECT_EQ(memory, before);
}

TEST_P(CodecContract, ASumThatIsNoNumberIsNotKept) {
  if (!spec().feedback || spec().form == CodecForm::powersgd) return;
  TensorMemory memory;
  const std::vector<float> huge(600, 3e38F);
  for (int step = 0; step < 3; ++step) encode(source(huge), memory);
  EXPECT_TRUE(kernels::all_finite(memory.residual.data(), memory.residual.size()));
  EXPECT_TRUE(kernels::all_finite(memory.velocity.data(), memory.velocity.size()));
}

TEST_P(CodecContract, ARankThatHasJoinedSendsNothingAndKeepsWhatItHas) {
  const std::size_t count = 3000;
  TensorMemory memory;
  encode(source(gradient(count, 1)), memory);
  const TensorMemory before = memory;
  Source joined = source(gradient(count, 1));
  joined.elements = nullptr;
  EXPECT_EQ(decode(encode(joined, memory), count), std::vector<float>(count, 0.0F));
  EXPECT_EQ(memory, before);
}

TEST_P(CodecContract, DamagedPacketsAreRefusedBeforeAnythingIsAdded) {
  Rng rng(11);
  const std::size_t count = 1500;
  TensorMemory memory;
  const auto whole = encode(source(gradient(count, 1)), memory);
  const std::vector<float> untouched(count, 7.0F);
  const auto refused = [&](std::span<const std::byte> packet, std::size_t elements) {
    std::vector<float> out(elements, 7.0F);
    const bool ok = codec_->decode_add(packet, shape_of(elements), out).ok();
    if (!ok) {
      EXPECT_EQ(out, std::vector<float>(elements, 7.0F));
    }
    return !ok;
  };
  EXPECT_TRUE(refused(std::span(whole).first(whole.size() - 1), count));
  EXPECT_TRUE(refused(std::span(whole).first(kPacketHeaderBytes - 1), count));
  EXPECT_TRUE(refused({}, count));
  EXPECT_TRUE(refused(whole, count + 1));
  for (int i = 0; i < 200; ++i) {
    auto damaged = whole;
    damaged[rng.below(kPacketHeaderBytes)] ^= static_cast<std::byte>(1 + rng.below(255));
    EXPECT_TRUE(refused(damaged, count));
  }
  for (int i = 0; i < 200; ++i) {           // a payload may be anything; nothing is read outside
    auto damaged = whole;
    damaged[kPacketHeaderBytes + rng.below(whole.size() - kPacketHeaderBytes)] ^= std::byte{0xFF};
    refused(damaged, count);
  }
}

}  // namespace
}  // namespace unisono::encode
