// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mesh/postbox.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace unisono::transport {
namespace {

using Match = Postbox::Match;
using State = Transfer::State;

class PostboxTest : public testing::Test {
 protected:
  // Delivers at once what a peer sends under a label.
  Status arrive(Label label, std::string_view text) {
    auto to = box_.begin(label, text.size());
    if (!to) return to.status();
    if (!text.empty()) std::memcpy(*to, text.data(), text.size());
    box_.finish();
    return {};
  }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.data()), 4}; }

  Postbox box_;
  std::array<std::byte, 4> bytes_{};
  Transfer done_;
};

TEST_F(PostboxTest, DataGoesStraightToAPostedReceive) {
  EXPECT_EQ(box_.receive(7, bytes_, done_), Match::waiting);
  auto to = box_.begin(7, 4);
  ASSERT_TRUE(to.ok());
  EXPECT_EQ(*to, bytes_.data());
  EXPECT_EQ(done_.state, State::active);
  box_.finish();
  EXPECT_TRUE(done_.done());
}

TEST_F(PostboxTest, EarlyDataWaitsForItsReceive) {
  ASSERT_TRUE(arrive(7, "abcd").ok());
  EXPECT_EQ(box_.receive(7, bytes_, done_), Match::done);
  EXPECT_TRUE(done_.done());
  EXPECT_EQ(text(), "abcd");
}

TEST_F(PostboxTest, TagsKeepApartAndEqualTagsKeepTheirOrder) {
  ASSERT_TRUE(arrive(1, "one ").ok());
  ASSERT_TRUE(arrive(2, "two ").ok());
  ASSERT_TRUE(arrive(1, "more").ok());
  for (const auto& [tag, expected] : {std::pair{2U, "two "}, {1U, "one "}, {1U, "more"}}) {
    EXPECT_EQ(box_.receive(tag, bytes_, done_), Match::done);
    EXPECT_EQ(text(), expected);
  }
}

TEST_F(PostboxTest, WhatIsArrivingCanStillBeTakenOver) {
  ASSERT_TRUE(box_.begin(7, 4).ok());
  EXPECT_EQ(box_.receive(7, bytes_, done_), Match::arriving);
  EXPECT_EQ(done_.state, State::active);
  box_.finish();
  EXPECT_TRUE(done_.done());
}

TEST_F(PostboxTest, AnotherBucketIsAMismatchOnEitherSide) {
  ASSERT_TRUE(arrive(Label(7, 0xabc), "abcd").ok());
  EXPECT_EQ(box_.receive(Label(7, 0xdef), bytes_, done_), Match::mismatch);
  EXPECT_EQ(done_.state, State::failed);
  EXPECT_EQ(box_.disagreement().code(), Code::mismatch);
  EXPECT_NE(box_.disagreement().message().find("0xabc"), std::string::npos);
  EXPECT_NE(box_.disagreement().message().find("0xdef"), std::string::npos);

  Transfer second;
  EXPECT_EQ(box_.receive(Label(8, 1), bytes_, second), Match::waiting);
  EXPECT_EQ(arrive(Label(8, 2), "abcd").code(), Code::mismatch);
  EXPECT_FALSE(second.done());
}

TEST_F(PostboxTest, AnotherLengthIsCorruptionOnEitherSide) {
  ASSERT_TRUE(arrive(7, "abcdefg").ok());
  EXPECT_EQ(box_.receive(7, bytes_, done_), Match::mismatch);
  EXPECT_EQ(box_.disagreement().code(), Code::corrupted);

  Transfer second;
  EXPECT_EQ(box_.receive(8, bytes_, second), Match::waiting);
  EXPECT_EQ(arrive(8, "abc").code(), Code::corrupted);
}

TEST_F(PostboxTest, EmptyDataIsMatchedToo) {
  ASSERT_TRUE(arrive(7, "").ok());
  EXPECT_EQ(box_.receive(7, {}, done_), Match::done);
}

TEST_F(PostboxTest, AfterTheEndWhatIsHereCanBeTakenAndTheRestFails) {
  ASSERT_TRUE(arrive(1, "here").ok());
  Transfer waits, late;
  EXPECT_EQ(box_.receive(2, bytes_, waits), Match::waiting);
  box_.end();
  EXPECT_EQ(waits.state, State::failed);
  EXPECT_EQ(box_.receive(1, bytes_, done_), Match::done);
  EXPECT_EQ(text(), "here");
  box_.receive(3, bytes_, late);
  EXPECT_EQ(late.state, State::failed);
}

TEST_F(PostboxTest, ALostPeerFailsEverything) {
  ASSERT_TRUE(arrive(1, "here").ok());
  ASSERT_TRUE(box_.begin(2, 4).ok());
  Transfer taken_over;
  EXPECT_EQ(box_.receive(2, bytes_, taken_over), Match::arriving);
  box_.fail();
  EXPECT_EQ(taken_over.state, State::failed);
  box_.receive(1, bytes_, done_);
  EXPECT_EQ(done_.state, State::failed);
}

}  // namespace
}  // namespace unisono::transport
