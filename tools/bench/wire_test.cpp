// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/wire.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>

#include "base/data/text.hpp"

namespace unisono::tools {
namespace {

// A channel and the bare other end of its socket.
struct Wire {
  LineChannel channel;
  Fd far;

  Wire() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    channel = LineChannel(Fd(ends[0]));
    far = Fd(ends[1]);
  }
  void say(std::string_view text) const {
    EXPECT_EQ(::send(far.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
};

TEST(BenchWire, AMessageArrivesAsItWasSent) {
  Wire wire;
  LineChannel other(std::move(wire.far));
  const nlohmann::json block{
      {"op", "block"}, {"text", "two\nlines, \"quoted\" µ"}, {"times_us", {1.5, 2.0}}};
  ASSERT_TRUE(wire.channel.send(block).ok());
  auto message = other.receive(0);
  ASSERT_TRUE(message.ok()) << message.status().message();
  EXPECT_TRUE(*message == block) << message->dump();
}

TEST(BenchWire, MessagesThatComeTogetherAreReadOneByOne) {
  Wire wire;
  wire.say("{\"n\":1}\n{\"n\":2}\n{\"n\"");
  for (const int n : {1, 2}) {
    auto message = wire.channel.receive(0);
    ASSERT_TRUE(message.ok());
    EXPECT_EQ(message->at("n").get<int>(), n);
  }
  EXPECT_EQ(wire.channel.receive(0).status().code(), Code::timed_out);
  wire.say(":3}\n");
  auto message = wire.channel.receive(0);
  ASSERT_TRUE(message.ok()) << "the part that came first is kept";
  EXPECT_EQ(message->at("n").get<int>(), 3);
}

TEST(BenchWire, AMessageLargerThanOneReadArrivesWhole) {
  Wire wire;
  const std::string text(70'000, 'x');
  wire.say(cat("{\"text\":\"", text, "\"}\n"));
  auto message = wire.channel.receive(0);
  ASSERT_TRUE(message.ok()) << message.status().message();
  EXPECT_EQ(message->at("text").get<std::string>().size(), text.size());
}

TEST(BenchWire, AMessageCutOffByTheEndIsNoMessage) {
  for (const char* text : {"", "{", "{\"op\":\"quit\"}"}) {
    Wire wire;
    wire.say(text);
    wire.far.reset();
    EXPECT_EQ(wire.channel.receive().status().code(), Code::peer_left) << text;
  }
}

TEST(BenchWire, WholeMessagesAreReadAfterTheOtherEndHasGone) {
  Wire wire;
  wire.say("{\"n\":1}\n");
  wire.far.reset();
  EXPECT_TRUE(wire.channel.receive().ok());
  EXPECT_EQ(wire.channel.receive().status().code(), Code::peer_left);
}

TEST(BenchWire, ADamagedMessageIsRefusedAndTheNextOneIsRead) {
  for (const char* text :
       {"", "{", "[1]", "3", "null", "{\"op\":}", "{\"op\":1}}", "\xff", "quit"}) {
    Wire wire;
    wire.say(cat(text, "\n{\"n\":1}\n"));
    EXPECT_EQ(wire.channel.receive(0).status().code(), Code::corrupted) << text;
    EXPECT_TRUE(wire.channel.receive(0).ok()) << text;
  }
}

TEST(BenchWire, SendingToNobodyIsAnErrorAndNoSignal) {
  Wire wire;
  wire.far.reset();
  EXPECT_FALSE(wire.channel.send({{"op", "quit"}}).ok());
}

TEST(BenchWire, ASocketIsReachedByANameThatOneListenerHas) {
  const std::string name = cat("unisono-wire-test-", ::getpid());
  EXPECT_EQ(connect_abstract(name).status().code(), Code::unavailable);
  auto listener = listen_abstract(name);
  ASSERT_TRUE(listener.ok()) << listener.status().message();
  EXPECT_EQ(listen_abstract(name).status().code(), Code::unavailable);
  auto near = connect_abstract(name);
  ASSERT_TRUE(near.ok()) << near.status().message();
  LineChannel worker(std::move(*near));
  LineChannel bench(Fd(::accept(listener->get(), nullptr, nullptr)));
  ASSERT_TRUE(worker.send({{"rank", 1}}).ok());
  auto hello = bench.receive(0);
  ASSERT_TRUE(hello.ok()) << hello.status().message();
  EXPECT_EQ(hello->at("rank").get<int>(), 1);
}

}  // namespace
}  // namespace unisono::tools
