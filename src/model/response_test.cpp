// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/response.hpp"

#include <gtest/gtest.h>

#include "base/data/rng.hpp"

namespace unisono {
namespace {

Response full_response() {
  Response r;
  r.sequence = 1234567890123;
  r.set = 3;
  r.error = Status(Code::mismatch, "shapes differ", {2, "b", 99, "w"});
  r.tensors.resize(2);
  r.tensors[0].name = "w";
  r.tensors[0].shape = {4, 2};
  r.tensors[1].name = "b";
  r.tensors[1].group = "g";
  r.extents = {{1, 2, 3}, {}};
  r.absent = {1, 5};
  r.value = 42;
  return r;
}

std::vector<std::byte> encoded(const Response& response) {
  ByteWriter out;
  encode_response(response, out);
  return out.take();
}

TEST(Response, ComesBackAsItWasSent) {
  const Response sent = full_response();
  const auto bytes = encoded(sent);
  ByteReader in(bytes);
  const Response got = decode_response(in);
  EXPECT_TRUE(in.finished());
  EXPECT_EQ(got.sequence, sent.sequence);
  EXPECT_EQ(got.set, sent.set);
  EXPECT_EQ(got.error.to_string(), sent.error.to_string());
  EXPECT_EQ(got.error.culprit().rank, 2);
  EXPECT_EQ(got.error.culprit().host, "b");
  EXPECT_EQ(got.error.culprit().pid, 99);
  EXPECT_EQ(got.error.culprit().tensor, "w");
  EXPECT_EQ(got.tensors, sent.tensors);
  EXPECT_EQ(got.extents, sent.extents);
  EXPECT_EQ(got.absent, sent.absent);
  EXPECT_EQ(got.value, 42);
}

TEST(Response, WithoutErrorStaysOk) {
  const auto bytes = encoded(Response{});
  ByteReader in(bytes);
  const Response got = decode_response(in);
  EXPECT_TRUE(in.finished());
  EXPECT_TRUE(got.error.ok());
  EXPECT_TRUE(got.tensors.empty());
  EXPECT_EQ(got.value, -1);
}

TEST(Response, EveryTruncationIsRefused) {
  const auto bytes = encoded(full_response());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const std::vector<std::byte> prefix(bytes.begin(), bytes.begin() + static_cast<long>(n));
    ByteReader in(prefix);
    decode_response(in);
    EXPECT_FALSE(in.ok()) << n << " of " << bytes.size() << " bytes";
  }
}

TEST(Response, SurvivesEveryChangedByteAndNoise) {
  const auto bytes = encoded(full_response());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int value : {0x00, 0x7F, 0x80, 0xFF}) {
      auto changed = bytes;
      changed[i] = static_cast<std::byte>(value);
      ByteReader in(changed);
      decode_response(in);
    }
  }
  Rng rng(78);
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::byte> noise(rng.below(200));
    for (std::byte& b : noise) b = static_cast<std::byte>(rng.below(4) == 0 ? rng() : 0);
    ByteReader in(noise);
    decode_response(in);
  }
}

TEST(Response, RefusesErrorCodesItDoesNotKnow) {
  for (const int code : {-1, 16, INT32_MAX}) {
    Response r;
    r.error = Status(static_cast<Code>(code), "?");
    const auto bytes = encoded(r);
    ByteReader in(bytes);
    decode_response(in);
    EXPECT_FALSE(in.ok()) << code;
  }
}

TEST(Response, AnnouncedCountsBeyondTheBytesEndTheReading) {
  ByteWriter out;
  encode_response(Response{}, out);
  auto bytes = out.take();
  // An empty Response ends in the counts of tensors, extents and absent members, and the value.
  const std::size_t at = bytes.size() - (4 + 4 + 4 + 8);
  for (std::size_t i = at; i < at + 4; ++i) bytes[i] = std::byte{0xFF};
  ByteReader in(bytes);
  const Response r = decode_response(in);
  EXPECT_FALSE(in.ok());
  EXPECT_LE(r.tensors.size(), 1u);
}

}  // namespace
}  // namespace unisono
