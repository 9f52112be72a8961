// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/request.hpp"

#include <gtest/gtest.h>

#include "base/data/rng.hpp"

namespace unisono {
namespace {

Request full_request() {
  Request r;
  r.name = "layer1.weight";
  r.kind = Collective::alltoall;
  r.dtype = DType::bf16;
  r.op = ReduceOp::max;
  r.device = 1;
  r.shape = {8, 3, 3};
  r.prescale = 0.5;
  r.postscale = 2.0;
  r.root = 3;
  r.set = 7;
  r.priority = -2;
  r.codec = "topk";
  r.team = 3;
  r.plan_codecs = "fp16,bf16";
  r.group = "block1";
  r.group_size = 4;
  r.uneven = true;
  r.board_slots = 0x0302;
  r.members = {0, 2, 3};
  return r;
}

std::vector<std::byte> encoded(const Request& request) {
  ByteWriter out;
  encode_request(request, out);
  return out.take();
}

TEST(Request, ComesBackAsItWasSent) {
  for (const Request& request : {Request{}, full_request()}) {
    const auto bytes = encoded(request);
    ByteReader in(bytes);
    EXPECT_EQ(decode_request(in), request);
    EXPECT_TRUE(in.finished());
  }
}

TEST(Request, EveryTruncationIsRefused) {
  const auto bytes = encoded(full_request());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    // A copy of exactly n bytes lets the address sanitiser see any read past the end.
    const std::vector<std::byte> prefix(bytes.begin(), bytes.begin() + static_cast<long>(n));
    ByteReader in(prefix);
    decode_request(in);
    EXPECT_FALSE(in.ok()) << n << " of " << bytes.size() << " bytes";
  }
}

TEST(Request, SurvivesEveryChangedByte) {
  const auto bytes = encoded(full_request());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int value : {0x00, 0x7F, 0x80, 0xFF}) {
      auto changed = bytes;
      changed[i] = static_cast<std::byte>(value);
      ByteReader in(changed);
      const Request r = decode_request(in);
      EXPECT_TRUE(!in.ok() || element_count(r.shape).has_value());
    }
  }
}

TEST(Request, SurvivesNoise) {
  Rng rng(77);
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::byte> noise(rng.below(160));
    for (std::byte& b : noise) b = static_cast<std::byte>(rng.below(3) == 0 ? rng() : 0);
    ByteReader in(noise);
    decode_request(in);
  }
}

TEST(Request, RefusesNumbersItDoesNotKnow) {
  const auto refused = [](auto change) {
    Request request;
    change(request);
    const auto bytes = encoded(request);
    ByteReader in(bytes);
    decode_request(in);
    return !in.ok();
  };
  EXPECT_TRUE(refused([](Request& r) { r.kind = static_cast<Collective>(11); }));
  EXPECT_TRUE(refused([](Request& r) { r.dtype = static_cast<DType>(15); }));
  EXPECT_TRUE(refused([](Request& r) { r.op = static_cast<ReduceOp>(kReduceOpCount); }));
  EXPECT_TRUE(refused([](Request& r) { r.shape = {-1}; }));
  EXPECT_TRUE(refused([](Request& r) { r.shape = {INT64_MAX, 2}; }));
}

TEST(Request, KnowsItsSize) {
  Request r;
  EXPECT_EQ(r.elements(), 1);
  r.shape = {3, 5};
  r.dtype = DType::f64;
  EXPECT_EQ(r.bytes(), 120u);
  r.shape = {0};
  EXPECT_EQ(r.bytes(), 0u);
}

}  // namespace
}  // namespace unisono
