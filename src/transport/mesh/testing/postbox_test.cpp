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

TEST_F(PostboxTest, ManyReceivesOfOneTagAreServedInTheirOrder) {
  std::array<std::array<std::byte, 1>, 5> places{};
  std::array<Transfer, 5> transfers;
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(box_.receive(7, places[i], transfers[i]), Match::waiting);
  }
  for (const char letter : {'a', 'b', 'c', 'd', 'e'}) {
    EXPECT_TRUE(arrive(7, std::string_view(&letter, 1)).ok());
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(static_cast<char>(places[i][0]), static_cast<char>('a' + i));
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
  const Match match = box_.receive(Label(7, 0xdef), bytes_, done_);
  EXPECT_EQ(match, Match::mismatch);
  EXPECT_EQ(done_.state, State::failed);
  EXPECT_EQ(match.disagreement.code(), Code::mismatch);
  EXPECT_NE(match.disagreement.message().find("0xabc"), std::string::npos);
  EXPECT_NE(match.disagreement.message().find("0xdef"), std::string::npos);

  Transfer second;
  EXPECT_EQ(box_.receive(Label(8, 1), bytes_, second), Match::waiting);
  EXPECT_EQ(arrive(Label(8, 2), "abcd").code(), Code::mismatch);
  EXPECT_FALSE(second.done());
}

TEST_F(PostboxTest, AnotherLengthIsCorruptionOnEitherSide) {
  ASSERT_TRUE(arrive(7, "abcdefg").ok());
  const Match match = box_.receive(7, bytes_, done_);
  EXPECT_EQ(match, Match::mismatch);
  EXPECT_EQ(match.disagreement.code(), Code::corrupted);

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

TEST(StripedPostbox, OnEachStripeSomethingArrives) {
  Postbox box(2);
  std::array<std::byte, 4> first{}, second{};
  Transfer one, two;
  EXPECT_EQ(box.receive(1, first, one), Match::waiting);
  auto a = box.begin(1, 4, 0);
  auto b = box.begin(2, 4, 1);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(*a, first.data());
  const Match match = box.receive(2, second, two);
  EXPECT_EQ(match, Match::arriving);
  EXPECT_EQ(match.stripe, 1u);
  EXPECT_TRUE(box.finish(1));
  EXPECT_TRUE(two.done());
  EXPECT_EQ(one.state, State::active);
  EXPECT_TRUE(box.finish(0));
  EXPECT_TRUE(one.done());
}

// Another thread writes into the buffer meanwhile, so nobody may take it away.
TEST(StripedPostbox, WhatHasBegunToArriveIsCopiedWhenItIsWholeWhereOthersWrite) {
  for (const bool abandoned : {false, true}) {
    Postbox box(2, true);
    std::array<std::byte, 4> bytes{};
    Transfer done;
    auto to = box.begin(7, 4, 1);
    ASSERT_TRUE(to.ok());
    EXPECT_EQ(box.receive(7, bytes, done), Match::waiting);
    std::memcpy(*to, "abcd", 4);
    std::byte* rest = nullptr;
    if (abandoned) {
      EXPECT_FALSE(box.withdraw(done));
      EXPECT_TRUE(box.drop(0, done, rest));
      EXPECT_EQ(done.state, State::active);
      EXPECT_TRUE(box.drop(1, done, rest));
      EXPECT_EQ(rest, nullptr);
    }
    EXPECT_EQ(box.finish(1), !abandoned);
    EXPECT_EQ(done.state, abandoned ? State::failed : State::done);
    EXPECT_EQ(std::memcmp(bytes.data(), abandoned ? "\0\0\0\0" : "abcd", 4), 0);
  }
}

}  // namespace
}  // namespace unisono::transport
