// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/sparse/sparse_ask.hpp"

#include <gtest/gtest.h>

#include "model/request.hpp"

namespace unisono {
namespace {

Request sparse_request() {
  Request r;
  r.name = "embedding";
  r.kind = Collective::sparse_allreduce;
  r.shape = {1000};
  r.sparse = {.nnz = 96, .nnz_sum = 300, .expected = 7, .top_k = 12, .allow_loss = true,
              .same_indices = true, .refuse_overlap = true, .gather_bits = 4,
              .algorithm = "oktopk", .user_operator = "longest"};
  return r;
}

bool comes_back(const Request& request) {
  ByteWriter out;
  encode_request(request, out);
  const auto bytes = out.take();
  ByteReader in(bytes);
  const Request back = decode_request(in);
  return in.finished() && back == request;
}

TEST(SparseAsk, TravelsWithSparseKindsAlone) {
  EXPECT_TRUE(comes_back(sparse_request()));
  Request dense = sparse_request();
  dense.kind = Collective::allreduce;
  EXPECT_FALSE(comes_back(dense));
  dense.sparse = {};
  EXPECT_TRUE(comes_back(dense));
}

TEST(SparseAsk, WhatCannotBeIsRefused) {
  Request request = sparse_request();
  request.sparse.nnz = 1001;
  EXPECT_FALSE(comes_back(request));
  request = sparse_request();
  request.sparse.top_k = 1001;
  EXPECT_FALSE(comes_back(request));
  request = sparse_request();
  request.sparse.gather_bits = 3;
  EXPECT_FALSE(comes_back(request));
  request = sparse_request();
  request.shape = {10, 100};
  EXPECT_FALSE(comes_back(request));
  request.shape = {static_cast<std::int64_t>(kStreamLengthMax) + 1};
  EXPECT_FALSE(comes_back(request));
}

TEST(SparseAsk, CountsThatAreAboutAlikeAreTheSame) {
  EXPECT_EQ(rounded_nnz(0, 100), 0u);
  EXPECT_EQ(rounded_nnz(3, 100), 3u);
  EXPECT_EQ(rounded_nnz(5, 100), 6u);
  EXPECT_EQ(rounded_nnz(1000, 1'000'000), 1024u);
  EXPECT_EQ(rounded_nnz(1024, 1'000'000), 1024u);
  EXPECT_EQ(rounded_nnz(1025, 1'000'000), 1536u);
  EXPECT_EQ(rounded_nnz(1500, 1510), 1510u);
  for (std::uint64_t n = 1; n < 5000; ++n) {
    EXPECT_GE(rounded_nnz(n, 1 << 20), n);
    EXPECT_LE(rounded_nnz(n, 1 << 20), n + n / 2);
  }
}

TEST(SparseAsk, AgreesWhateverTheCountsAre) {
  SparseAsk a = sparse_request().sparse, b = a;
  b.nnz = 1;
  b.nnz_sum = 2;
  EXPECT_TRUE(a.agrees_with(b));
  b.top_k = 1;
  EXPECT_FALSE(a.agrees_with(b));
}

TEST(SparseAsk, BytesAreThoseOfTheElements) {
  Request request = sparse_request();
  request.sparse.expected = 0;
  EXPECT_EQ(request.bytes(), 96u * 8);
  request.sparse.expected = 10;
  EXPECT_EQ(request.bytes(), 10u * 8);
}

}  // namespace
}  // namespace unisono
