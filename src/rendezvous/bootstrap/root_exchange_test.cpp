// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/bootstrap/root_exchange.hpp"

#include <gtest/gtest.h>

#include "base/data/bytes.hpp"

namespace unisono::rendezvous {
namespace {

std::vector<std::byte> record(std::uint8_t kind, std::int32_t code) {
  ByteWriter out;
  out.put(kind);
  out.put(code);
  out.put_text("why");
  out.put(std::int32_t{1});
  out.put_text("host");
  out.put(std::int64_t{4711});
  return out.take();
}

TEST(JoinRecord, CarriesAFailureWithItsCulprit) {
  const auto read = decode_record(encode_failure({Code::peer_lost, "gone", {1, "host", 4711, ""}}));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), Code::peer_lost);
  EXPECT_EQ(read.status().message(), "gone");
  EXPECT_EQ(read.status().culprit().rank, 1);
}

TEST(JoinRecord, ACodeOrKindThatDoesNotExistIsGarbage) {
  EXPECT_EQ(decode_record(record(1, 4)).status().code(), Code::peer_lost);
  for (const auto& [kind, code] : {std::pair{1, 0}, {1, -1}, {1, 99}, {2, 4}}) {
    EXPECT_EQ(decode_record(record(static_cast<std::uint8_t>(kind), code)).status().code(),
              Code::corrupted)
        << kind << " " << code;
  }
}

}  // namespace
}  // namespace unisono::rendezvous
