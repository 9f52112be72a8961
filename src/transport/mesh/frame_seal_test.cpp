// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mesh/frame_seal.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace unisono::transport {
namespace {

std::string hex(const FrameCheck& check) {
  std::string out;
  for (const std::byte b : check) {
    constexpr char kDigits[] = "0123456789abcdef";
    out += kDigits[static_cast<unsigned>(b) >> 4];
    out += kDigits[static_cast<unsigned>(b) & 15];
  }
  return out;
}

// Published vectors: key, nonce and message all zero or empty.
TEST(FrameSeal, IsTheMacItsNameSays) {
  EXPECT_EQ(hex(FrameSeal::make(SealKind::aes_256_gcm, {})->header(0, {})),
            "530f8afbc74536b9a963b4f1c4cb738b");
  EXPECT_EQ(hex(FrameSeal::make(SealKind::chacha20_poly1305, {})->header(0, {})),
            "4eb972c9a8fb3a1b382bb4d36f5ffad1");
}

class Seals : public testing::TestWithParam<SealKind> {};

TEST_P(Seals, DependOnKeyNumberAndPart) {
  const std::vector<std::byte> bytes(100, std::byte{3});
  std::set<std::string> seen;
  for (const unsigned char mark : {std::uint8_t{1}, std::uint8_t{2}}) {
    SealKey key{};
    key.fill(mark);
    const auto seal = FrameSeal::make(GetParam(), key);
    for (const std::uint64_t number : {0ull, 1ull, 1ull << 32, ~0ull}) {
      seen.insert(hex(seal->header(number, bytes)));
      if (GetParam() == SealKind::hash) continue;  // takes a payload in one call only
      seal->begin(number);
      seal->add(bytes);
      seen.insert(hex(seal->end()));
    }
  }
  EXPECT_EQ(seen.size(), GetParam() == SealKind::hash ? 8u : 16u);
}

TEST_P(Seals, PiecesGiveTheSameAsTheWhole) {
  if (GetParam() == SealKind::hash) GTEST_SKIP() << "a hash takes a payload in one call";
  std::vector<std::byte> bytes(100'003);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 13);
  const auto seal = FrameSeal::make(GetParam(), {});
  seal->begin(9);
  seal->add(bytes);
  const FrameCheck whole = seal->end();
  for (const std::size_t step : {std::size_t{1}, std::size_t{17}, std::size_t{4096}}) {
    seal->begin(9);
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      seal->add(std::span(bytes).subspan(at, std::min(step, bytes.size() - at)));
    }
    EXPECT_TRUE(same_check(seal->end(), whole)) << step;
  }
}

class Encryption : public testing::TestWithParam<SealKind> {
 protected:
  std::unique_ptr<FrameSeal> seal(FrameSeal::Direction direction) const {
    SealKey key{};
    key.fill(7);
    return FrameSeal::make(encrypted(GetParam()), key, direction);
  }
};

TEST_P(Encryption, WhatWasEncryptedInAnyPiecesIsReadInAnyOther) {
  std::vector<std::byte> bytes(100'003);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 13);
  const auto transform = [](FrameSeal& seal, std::vector<std::byte>& data, std::size_t step) {
    for (std::size_t at = 0; at < data.size(); at += step) {
      const auto piece = std::span(data).subspan(at, std::min(step, data.size() - at));
      seal.transform(piece, piece.data());
    }
  };
  const auto out = seal(FrameSeal::Direction::out), in = seal(FrameSeal::Direction::in);
  std::set<std::vector<std::byte>> seen;
  for (const std::uint64_t number : {0ull, 1ull, ~0ull}) {
    std::vector<std::byte> data = bytes;
    out->begin(number);
    transform(*out, data, 4096);
    const FrameCheck check = out->end();
    EXPECT_TRUE(seen.insert(data).second) << "the same bytes under another number";
    for (const std::size_t step : {std::size_t{1}, std::size_t{17}, data.size()}) {
      std::vector<std::byte> opened = data;
      in->begin(number);
      transform(*in, opened, step);
      EXPECT_TRUE(in->passes(check));
      EXPECT_EQ(opened, bytes);
    }
    std::vector<std::byte> changed = data;
    changed[70'000] ^= std::byte{1};
    in->begin(number);
    transform(*in, changed, 4096);
    EXPECT_FALSE(in->passes(check));
    in->begin(number + 1);
    transform(*in, data, 4096);
    EXPECT_FALSE(in->passes(check));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Encryption,
                         testing::Values(SealKind::aes_256_gcm, SealKind::chacha20_poly1305));

INSTANTIATE_TEST_SUITE_P(All, Seals,
                         testing::Values(SealKind::hash, SealKind::aes_256_gcm,
                                         SealKind::chacha20_poly1305));

}  // namespace
}  // namespace unisono::transport
