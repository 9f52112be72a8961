// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "unisono/status.hpp"

#include <gtest/gtest.h>

#include <set>

namespace unisono {
namespace {

TEST(Status, IsOkAndEmptyByDefault) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), Code::ok);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.culprit().rank, -1);
  EXPECT_EQ(status.to_string(), "Ok");
  EXPECT_TRUE(Status(Code::ok, "ignored").ok());
}

TEST(Status, CarriesCodeMessageAndCulprit) {
  const Status status(Code::peer_lost, "rank 3 went away", {3, "b", 77, "layer4.bias"});
  const Status copy = status;
  EXPECT_FALSE(copy.ok());
  EXPECT_EQ(copy.culprit().rank, 3);
  EXPECT_EQ(copy.culprit().host, "b");
  EXPECT_EQ(copy.culprit().pid, 77);
  EXPECT_EQ(copy.culprit().tensor, "layer4.bias");
  EXPECT_EQ(copy.to_string(), "PeerLost: rank 3 went away");
}

TEST(Status, EveryCodeHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(Code::internal); ++code) {
    names.insert(code_name(static_cast<Code>(code)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Code::internal) + 1);
  EXPECT_EQ(code_name(static_cast<Code>(99)), "Unknown");
  EXPECT_EQ(code_name(static_cast<Code>(-1)), "Unknown");
}

TEST(Status, AMismatchIsNeverRetryableALostPeerIs) {
  EXPECT_TRUE(Status(Code::peer_lost, "").retryable());
  EXPECT_FALSE(Status(Code::mismatch, "").retryable());
  EXPECT_FALSE(Status(Code::invalid_argument, "").retryable());
  EXPECT_FALSE(Status().retryable());
}

TEST(Result, HoldsAValueOrAStatus) {
  Result<std::string> good(std::string("x"));
  EXPECT_TRUE(good.ok());
  EXPECT_TRUE(good.status().ok());
  EXPECT_EQ(*good, "x");
  const Result<std::string> bad(Status(Code::timed_out, "late"));
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().code(), Code::timed_out);
}

}  // namespace
}  // namespace unisono
