// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What is written is read again; what nobody would write is refused.
#include "stream/packet.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "base/data/rng.hpp"
#include "base/data/text.hpp"
#include "kernels/kernels.hpp"

namespace unisono::stream {
namespace {

Stream random_stream(DType dtype, std::uint64_t length, std::size_t nnz, Rng& rng) {
  std::vector<std::uint64_t> indices;
  for (std::uint64_t i = 0; i < length && indices.size() < nnz; ++i) {
    if (rng.below(length - i) < nnz - indices.size()) indices.push_back(i);
  }
  std::vector<double> wide(indices.size());
  for (auto& value : wide) value = static_cast<double>(rng.below(50));
  std::vector<std::byte> values(wide.size() * size_of(dtype));
  kernels::cast(dtype, values.data(), DType::f64, wide.data(), wide.size());
  return std::move(Stream::from_pairs(dtype, length, indices, values.data())).value();
}

Expected expecting(const Stream& stream, std::uint64_t offset = 0, std::uint32_t sequence = 0) {
  return {stream.dtype(), stream.dtype(), {}, offset, stream.length(), sequence};
}

TEST(Packet, IsReadAsItWasWrittenInEveryFormat) {
  Rng rng(1);
  std::array<int, kStreamFormatCount> used{};
  for (int dtype = 0; dtype < kDTypeCount; ++dtype) {
    for (const std::uint64_t length : {1u, 64u, 1000u, 70'000u}) {
      for (const std::size_t nnz : {0u, 1u, 30u, 500u, 990u, 1000u}) {
        const Stream in = random_stream(static_cast<DType>(dtype), length, nnz, rng);
        const Packet packet = write_packet(in.view(), {}, 17, 3);
        const auto header = read_header(packet.header, expecting(in, 17, 3));
        ASSERT_TRUE(header.ok()) << header.status().to_string();
        ++used[static_cast<std::size_t>(header.value().format)];
        ASSERT_EQ(packet.payload.size(), header.value().payload_bytes);
        Scratch scratch;
        const auto view = read_payload(header.value(), packet.payload, scratch);
        ASSERT_TRUE(view.ok()) << view.status().to_string();
        Stream expected = in;
        if (view.value().dense) expected.densify({});
        ASSERT_TRUE(same(Stream::copy_of(view.value()), expected));
      }
    }
  }
  for (const int times : used) EXPECT_GT(times, 0);
}

TEST(Packet, OfAWideStreamHasWideIndices) {
  const std::uint64_t length = std::uint64_t{1} << 40;
  const std::vector<std::uint64_t> indices = {5, length - 1};
  const std::vector<float> values = {1, 2};
  const Stream in =
      std::move(Stream::from_pairs(DType::f32, length, indices, values.data())).value();
  const Packet packet = write_packet(in.view(), {}, 0, 0);
  EXPECT_EQ(packet.payload.size(), 24u);
  Scratch scratch;
  const auto view =
      read_payload(read_header(packet.header, expecting(in)).value(), packet.payload, scratch);
  EXPECT_TRUE(same(Stream::copy_of(view.value()), in));
  // Indices count from the beginning of the segment, which may be short.
  EXPECT_EQ(write_packet(in.view().slice(length - 10, length), {}, length - 10, 0).payload.size(),
            8u);
}

struct Hostile : testing::Test {
  Hostile() {
    expected = {DType::f32, DType::f32, {}, 0, 1000, 9};
    header.sequence = 9;
    header.length = 1000;
    header.nnz = 3;
    header.payload_bytes = 24;
  }
  Code code_of(const Header& bad) const {
    return read_header(write_header(bad, {}), expected).status().code();
  }
  Expected expected;
  Header header;
};

TEST_F(Hostile, TheHonestHeaderIsRead) { EXPECT_EQ(code_of(header), Code::ok); }

TEST_F(Hostile, HeadersThatContradictThemselvesAreRefused) {
  const auto with = [&](auto change) {
    Header bad = header;
    change(bad);
    return code_of(bad);
  };
  EXPECT_EQ(with([](Header& h) { h.nnz = 1001; h.payload_bytes = 8008; }), Code::corrupted);
  EXPECT_EQ(with([](Header& h) { h.nnz = UINT64_MAX / 4; }), Code::corrupted);
  EXPECT_EQ(with([](Header& h) { h.nnz = std::uint64_t{1} << 61; h.payload_bytes = 0; }),
            Code::corrupted);
  EXPECT_EQ(with([](Header& h) { h.payload_bytes = UINT64_MAX; }), Code::corrupted);
  EXPECT_EQ(with([](Header& h) { h.payload_bytes = 25; }), Code::corrupted);
  EXPECT_EQ(with([](Header& h) { h.index_bytes = 8; }), Code::corrupted);
  EXPECT_EQ(with([](Header& h) { h.format = StreamFormat::dense; }), Code::corrupted);
  EXPECT_EQ(with([](Header& h) { h.format = static_cast<StreamFormat>(4); }), Code::corrupted);
}

TEST_F(Hostile, WhatTheReceiverDoesNotExpectIsAMismatch) {
  const auto with = [&](auto change) {
    Header bad = header;
    change(bad);
    return code_of(bad);
  };
  EXPECT_EQ(with([](Header& h) { h.dtype = DType::i32; }), Code::mismatch);
  EXPECT_EQ(with([](Header& h) { h.dtype = static_cast<DType>(200); }), Code::mismatch);
  EXPECT_EQ(with([](Header& h) { h.op = ReduceOp::max; }), Code::mismatch);
  EXPECT_EQ(with([](Header& h) { h.sequence = 8; }), Code::mismatch);
  EXPECT_EQ(with([](Header& h) { h.offset = 1; }), Code::mismatch);
  EXPECT_EQ(with([](Header& h) { h.length = UINT64_MAX; }), Code::mismatch);
}

TEST_F(Hostile, DamagedAndForeignBytesAreRefused) {
  HeaderBytes bytes = write_header(header, {});
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    HeaderBytes bad = bytes;
    bad[i] ^= std::byte{0x10};
    EXPECT_FALSE(read_header(bad, expected).ok()) << "byte " << i;
  }
  EXPECT_FALSE(read_header(std::span(bytes).first(47), expected).ok());
  // A user's operator of another name.
  const kernels::UserOperator mine{.name = "mine"}, theirs{.name = "theirs"};
  expected.op.user = &mine;
  header.op = static_cast<ReduceOp>(0xFF);
  EXPECT_TRUE(read_header(write_header(header, {ReduceOp::sum, &mine}), expected).ok());
  EXPECT_FALSE(read_header(write_header(header, {ReduceOp::sum, &theirs}), expected).ok());
}

TEST_F(Hostile, PayloadsThatAreNoStreamAreRefused) {
  const Header good = read_header(write_header(header, {}), expected).value();
  const auto code_with = [&](std::vector<std::uint32_t> indices, std::size_t bytes = 24) {
    Array<std::byte> payload(bytes);
    std::memset(payload.data(), 0, bytes);
    std::memcpy(payload.data(), indices.data(), std::min(indices.size() * 4, bytes));
    Scratch scratch;
    return read_payload(good, payload, scratch).status().code();
  };
  EXPECT_EQ(code_with({1, 2, 999}), Code::ok);
  EXPECT_EQ(code_with({1, 2, 1000}), Code::corrupted);
  EXPECT_EQ(code_with({1, 1, 2}), Code::corrupted);
  EXPECT_EQ(code_with({2, 1, 3}), Code::corrupted);
  EXPECT_EQ(code_with({1, 2, 3}, 23), Code::corrupted);
  EXPECT_EQ(code_with({1, 2, 3}, 25), Code::corrupted);
}

TEST_F(Hostile, BlocksAndBitmapsWithOtherCountsAreRefused) {
  expected.length = header.length = 70'000;
  header.nnz = 200;
  const auto code_with = [&](StreamFormat format, auto fill) {
    header.format = format;
    header.payload_bytes = stream_payload_bytes(format, header.length, header.nnz, 4);
    const Header good = read_header(write_header(header, {}), expected).value();
    Array<std::byte> payload(header.payload_bytes);
    std::memset(payload.data(), 0, payload.size());
    fill(payload);
    Scratch scratch;
    return read_payload(good, payload, scratch).status().code();
  };
  const auto counts = [](std::uint32_t first, std::uint32_t second, bool last_beyond) {
    return [=](Array<std::byte>& payload) {
      const std::uint32_t both[] = {first, second};
      std::memcpy(payload.data(), both, 8);
      for (std::uint16_t i = 0; i < 200; ++i) {
        const auto at = static_cast<std::uint16_t>(last_beyond && i == 199 ? 60'000 : i);
        std::memcpy(payload.data() + 8 + 2 * i, &at, 2);
      }
    };
  };
  EXPECT_EQ(code_with(StreamFormat::blocks, counts(100, 100, false)), Code::ok);
  EXPECT_EQ(code_with(StreamFormat::blocks, counts(100, 99, false)), Code::corrupted);
  EXPECT_EQ(code_with(StreamFormat::blocks, counts(100, 101, false)), Code::corrupted);
  EXPECT_EQ(code_with(StreamFormat::blocks, counts(0xFFFFFFFF, 201, false)), Code::corrupted);
  EXPECT_EQ(code_with(StreamFormat::blocks, counts(100, 100, true)), Code::corrupted);
  const auto bits = [](int ones, bool beyond) {
    return [=](Array<std::byte>& payload) {
      for (int i = 0; i < ones; ++i) {
        payload[static_cast<std::size_t>(i / 8)] |= std::byte(1 << (i % 8));
      }
      // 70,000 elements are 1,093 words and 48 bits.
      if (beyond) payload[1093 * 8 + 7] |= std::byte{1};
    };
  };
  EXPECT_EQ(code_with(StreamFormat::bitmap, bits(200, false)), Code::ok);
  EXPECT_EQ(code_with(StreamFormat::bitmap, bits(199, false)), Code::corrupted);
  EXPECT_EQ(code_with(StreamFormat::bitmap, bits(201, false)), Code::corrupted);
  EXPECT_EQ(code_with(StreamFormat::bitmap, bits(199, true)), Code::corrupted);
}

}  // namespace
}  // namespace unisono::stream
