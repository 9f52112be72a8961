// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/data/status_bytes.hpp"

#include <gtest/gtest.h>

namespace unisono {
namespace {

const Status kLost(Code::peer_lost, "rank 3 was lost", Culprit{3, "node7", 4711, {}});

std::vector<std::byte> written(const Status& status, StatusTextMax max = {}) {
  ByteWriter out;
  put_status(out, status, max);
  return out.take();
}

TEST(StatusBytes, ComeBackAsTheyWere) {
  const auto bytes = written(kLost);
  ByteReader in(bytes);
  const Status back = get_status(in);
  EXPECT_TRUE(in.finished());
  EXPECT_EQ(back.code(), Code::peer_lost);
  EXPECT_EQ(back.message(), "rank 3 was lost");
  EXPECT_EQ(back.culprit().rank, 3);
  EXPECT_EQ(back.culprit().host, "node7");
  EXPECT_EQ(back.culprit().pid, 4711);
}

TEST(StatusBytes, SuccessTravelsToo) {
  const auto bytes = written(Status());
  ByteReader in(bytes);
  EXPECT_TRUE(get_status(in).ok());
  EXPECT_TRUE(in.finished());
}

TEST(StatusBytes, LongTextsAreCut) {
  const auto bytes = written(kLost, {.message = 6, .host = 4});
  ByteReader in(bytes);
  const Status back = get_status(in);
  EXPECT_EQ(back.message(), "rank 3");
  EXPECT_EQ(back.culprit().host, "node");
}

TEST(StatusBytes, EveryTruncationFails) {
  const auto bytes = written(kLost);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ByteReader in(std::span<const std::byte>(bytes).first(size));
    EXPECT_TRUE(get_status(in).ok()) << "no blame without evidence";
    EXPECT_FALSE(in.ok()) << size;
  }
}

TEST(StatusBytes, AnUnknownCodeFails) {
  auto bytes = written(kLost);
  for (int code = 0; code < 256; ++code) {
    bytes[0] = static_cast<std::byte>(code);
    ByteReader in(bytes);
    static_cast<void>(get_status(in));
    EXPECT_EQ(in.ok(), code <= static_cast<int>(Code::internal)) << code;
  }
}

}  // namespace
}  // namespace unisono
