// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/os/child_closes.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace unisono {
namespace {

std::pair<Fd, Fd> connected() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

// Returns what `check` returns in a forked child.
bool in_child(const std::function<bool()>& check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(check() ? 0 : 1);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ForkWatch, KnowsAChildAndAChildOfAChild) {
  const ForkWatch watch;
  EXPECT_FALSE(watch.in_child());
  EXPECT_TRUE(in_child([&] { return watch.in_child() && !ForkWatch().in_child(); }));
  EXPECT_TRUE(in_child([&] {
    const ForkWatch child;
    return in_child([&] { return watch.in_child() && child.in_child(); });
  }));
  EXPECT_FALSE(watch.in_child());
}

TEST(ChildCloses, OnlyTheChildsCopy) {
  auto [near, far] = connected();
  const ChildCloses closes(near);
  const int number = near.get();
  EXPECT_TRUE(in_child([&, &fd = near] { return !fd.valid() && !is_open(number); }));
  ASSERT_TRUE(near.valid());
  ASSERT_EQ(::write(near.get(), "x", 1), 1) << "the parent's connection must live on";
  char byte;
  EXPECT_EQ(::read(far.get(), &byte, 1), 1);
}

TEST(ChildCloses, AnySubsetInAnyOrderAndAgainInTheGrandchild) {
  auto a = connected(), b = connected(), c = connected();
  std::optional<ChildCloses> first(std::in_place, a.first), second(std::in_place, b.first),
      third(std::in_place, c.first);
  second.reset();
  EXPECT_TRUE(in_child([&] {
    if (a.first.valid() || !b.first.valid() || c.first.valid()) return false;
    // The child may make connections of its own, and forget those of its parent.
    first.reset();
    auto own = connected();
    const ChildCloses closes(own.first);
    return in_child([&] { return !own.first.valid(); }) && own.first.valid();
  }));
  first.reset();
  third.reset();
  EXPECT_TRUE(in_child([&] { return a.first.valid() && b.first.valid() && c.first.valid(); }));
}

// A descriptor number that the child reuses is not closed with the object that had it before.
TEST(ChildCloses, WhatTheChildOpensAfterwardsIsItsOwn) {
  auto fd = std::make_unique<Fd>(connected().first);
  auto closes = std::make_unique<ChildCloses>(*fd);
  const int number = fd->get();
  EXPECT_TRUE(in_child([&] {
    const int again = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    closes.reset();
    fd.reset();
    return again == number && is_open(again);
  }));
}

}  // namespace
}  // namespace unisono
