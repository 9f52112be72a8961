// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/plan.hpp"

#include <gtest/gtest.h>

#include <set>

namespace unisono {
namespace {

Bucket bucket_of(const char* name, std::uint64_t sequence, Shape shape) {
  Bucket bucket;
  Response response;
  response.sequence = sequence;
  response.tensors.resize(1);
  response.tensors[0].name = name;
  response.tensors[0].shape = std::move(shape);
  bucket.responses.push_back(std::move(response));
  return bucket;
}

TEST(BucketIdentity, TellsBucketsOfEqualSizeApart) {
  const Bucket a = bucket_of("a", 7, {4});
  Bucket other_set = a, planned = a, other_type = a, longer = a;
  other_set.set = 1;
  planned.responses[0].planned = true;
  other_type.responses[0].tensors[0].dtype = DType::i32;
  longer.responses.push_back(a.responses[0]);
  const std::set<std::uint64_t> identities{identity_of(a),
                                           identity_of(bucket_of("b", 7, {4})),
                                           identity_of(bucket_of("a", 8, {4})),
                                           identity_of(other_set),
                                           identity_of(planned),
                                           identity_of(other_type),
                                           identity_of(longer)};
  EXPECT_EQ(identities.size(), 7u);
  for (const std::uint64_t identity : identities) {
    EXPECT_NE(identity, 0u);
    EXPECT_LT(identity, 1ull << 48);
  }
}

TEST(BucketIdentity, UnderProgramOrderItIsTheCallWhateverItsName) {
  Bucket a = bucket_of("allreduce.noname.1", 7, {4}), b = bucket_of("allreduce.noname.2", 7, {4});
  EXPECT_FALSE(needs_ballot(a));
  for (Bucket* bucket : {&a, &b}) {
    bucket->responses[0].planned = true;
    bucket->responses[0].call = 99;
  }
  EXPECT_TRUE(needs_ballot(a)) << "the calls of the members are compared first";
  EXPECT_EQ(identity_of(a), identity_of(b));
  b.responses[0].call = 98;
  EXPECT_NE(identity_of(a), identity_of(b));
}

TEST(BucketIdentity, MembersOfAGatherHaveTheSame) {
  EXPECT_EQ(identity_of(bucket_of("a", 7, {4, 2})), identity_of(bucket_of("a", 7, {9, 2})));
}

}  // namespace
}  // namespace unisono
