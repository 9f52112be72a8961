// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/handshake/handshake.hpp"

#include "base/data/text.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/os/fd.hpp"

namespace unisono::rendezvous {
namespace {

using Bytes = std::vector<std::byte>;

// Two ends with this test in the middle, so that it can keep, change or withhold messages.
struct Middle {
  Fd client, to_client, server, to_server;
  Middle() {
    int pair[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    client = Fd(pair[0]);
    to_client = Fd(pair[1]);
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    server = Fd(pair[0]);
    to_server = Fd(pair[1]);
  }
  static Bytes take(const Fd& fd) {
    Bytes bytes(512);
    const ssize_t n = ::recv(fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    return bytes;
  }
  static void give(const Fd& fd, std::span<const std::byte> bytes) {
    EXPECT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
};

struct Outcome {
  HandshakeState client, server;
  std::vector<Bytes> messages;
};

// Runs the four messages, flipping one bit of message `flip` at byte `at` when asked to.
Outcome run(ClientHandshake& client, ServerHandshake& server, int flip = -1, std::size_t at = 0) {
  Middle middle;
  Outcome outcome{HandshakeState::pending, HandshakeState::pending, {}};
  for (int i = 0; i < 4; ++i) {
    const bool from_client = i % 2 == 0;
    if (from_client) {
      outcome.client = client.step(middle.client.get());
    } else {
      outcome.server = server.step(middle.server.get());
    }
    Bytes message = Middle::take(from_client ? middle.to_client : middle.to_server);
    if (message.empty()) break;
    outcome.messages.push_back(message);
    if (i == flip) message[at] ^= std::byte{0x10};
    Middle::give(from_client ? middle.to_server : middle.to_client, message);
  }
  outcome.client = client.step(middle.client.get());
  outcome.server = server.step(middle.server.get());
  return outcome;
}

const Hello kHello{kProtocolVersion, Purpose::control, 3, 4, 1};

TEST(Handshake, BothEndsShareASession) {
  const JobKey key = make_job_key();
  ClientHandshake client(key, kHello);
  ServerHandshake server(key, 1);
  const Outcome outcome = run(client, server);
  ASSERT_EQ(outcome.client, HandshakeState::done) << client.status().message();
  ASSERT_EQ(outcome.server, HandshakeState::done) << server.status().message();
  EXPECT_EQ(outcome.messages[0].size(), kHelloBytes);
  EXPECT_EQ(client.session().check_seed, server.session().check_seed);
  EXPECT_EQ(client.session().record_key, server.session().record_key);
  EXPECT_NE(client.session().check_seed, 0u);
  EXPECT_EQ(client.session().frames.out, server.session().frames.in);
  EXPECT_EQ(client.session().frames.in, server.session().frames.out);
  EXPECT_NE(client.session().frames.in, client.session().frames.out);
  EXPECT_EQ(client.session().frames.kind, transport::fastest_seal());
  EXPECT_EQ(server.session().frames.kind, transport::fastest_seal());
  EXPECT_EQ(server.hello().rank, 3);
  EXPECT_EQ(server.hello().purpose, Purpose::control);
}

TEST(Handshake, SessionsDifferBetweenConnections) {
  const JobKey key = make_job_key();
  ClientHandshake client(key, kHello), other_client(key, kHello);
  ServerHandshake server(key, 1), other_server(key, 1);
  run(client, server);
  run(other_client, other_server);
  EXPECT_NE(client.session().check_seed, other_client.session().check_seed);
  EXPECT_NE(client.session().frames.out, other_client.session().frames.out);
  EXPECT_NE(client.session().frames.in, other_client.session().frames.in);
  EXPECT_NE(client.session().record_key, other_client.session().record_key);
}

TEST(Handshake, EndWithoutAesInstructionsGetsTheOtherSeal) {
  const JobKey key = make_job_key();
  Hello hello = kHello;
  hello.seal = transport::SealKind::chacha20_poly1305;
  ClientHandshake client(key, hello);
  ServerHandshake server(key, 1);
  ASSERT_EQ(run(client, server).client, HandshakeState::done) << client.status().message();
  EXPECT_EQ(client.session().frames.kind, transport::SealKind::chacha20_poly1305);
  EXPECT_EQ(server.session().frames.kind, transport::SealKind::chacha20_poly1305);
}

TEST(Handshake, HelloParserTakesNothingButAHello) {
  const JobKey key = make_job_key();
  ClientHandshake client(key, kHello);
  ServerHandshake server(key, 1);
  const Bytes said = run(client, server).messages[0];
  Hello hello;
  ASSERT_TRUE(parse_hello(said, hello));
  EXPECT_EQ(hello.rank, 3);
  EXPECT_EQ(hello.to, 1);
  for (std::size_t n = 0; n < said.size(); ++n) {
    EXPECT_FALSE(parse_hello(std::span(said).first(n), hello));
  }
}

TEST(Handshake, WrongKeyIsRefusedByTheClientFirst) {
  ClientHandshake client(make_job_key(), kHello);
  ServerHandshake server(make_job_key(), 1);
  const Outcome outcome = run(client, server);
  EXPECT_EQ(outcome.client, HandshakeState::failed);
  EXPECT_EQ(client.status().code(), Code::refused);
  EXPECT_NE(client.status().message().find("different job keys"), std::string::npos);
  EXPECT_NE(outcome.server, HandshakeState::done);
}

TEST(Handshake, VersionDifferenceNamesBothWithoutTheKey) {
  ClientHandshake client(make_job_key(), kHello);
  constexpr std::uint16_t kOther = kProtocolVersion + 1;
  ServerHandshake server(make_job_key(), 1, kOther);
  const Outcome outcome = run(client, server);
  EXPECT_EQ(outcome.client, HandshakeState::failed);
  EXPECT_EQ(client.status().message(),
            cat("rank 1 speaks protocol version ", kOther, ", this rank (3) speaks ",
                kProtocolVersion, "; install the same unisono on every rank"));
  EXPECT_EQ(outcome.server, HandshakeState::failed);
  EXPECT_NE(server.status().message().find(
                cat("version ", kProtocolVersion, ", this rank (1) speaks ", kOther)),
            std::string::npos);
}

TEST(Handshake, AnyFlippedBitIsNoticed) {
  const JobKey key = make_job_key();
  const std::size_t sizes[] = {kHelloBytes, kAnswerBytes, kMacBytes, kMacBytes};
  for (int message = 0; message < 4; ++message) {
    for (std::size_t at = 0; at < sizes[message]; ++at) {
      ClientHandshake client(key, kHello);
      ServerHandshake server(key, 1);
      const Outcome outcome = run(client, server, message, at);
      EXPECT_NE(outcome.client, HandshakeState::done) << message << " " << at;
      // Only the server's last message reaches the client after the server has finished.
      if (message < 3) {
        EXPECT_NE(outcome.server, HandshakeState::done) << message << " " << at;
      }
    }
  }
}

TEST(Handshake, ReplayedClientIsRefused) {
  const JobKey key = make_job_key();
  ClientHandshake client(key, kHello);
  ServerHandshake server(key, 1);
  const Outcome heard = run(client, server);
  Middle middle;
  ServerHandshake again(key, 1);
  Middle::give(middle.to_server, heard.messages[0]);
  EXPECT_EQ(again.step(middle.server.get()), HandshakeState::pending);
  Middle::give(middle.to_server, heard.messages[2]);
  EXPECT_EQ(again.step(middle.server.get()), HandshakeState::failed);
}

TEST(Handshake, ReplayedServerIsRefused) {
  const JobKey key = make_job_key();
  ClientHandshake client(key, kHello);
  ServerHandshake server(key, 1);
  const Outcome heard = run(client, server);
  Middle middle;
  ClientHandshake again(key, kHello);
  EXPECT_EQ(again.step(middle.client.get()), HandshakeState::pending);
  Middle::give(middle.to_client, heard.messages[1]);
  EXPECT_EQ(again.step(middle.client.get()), HandshakeState::failed);
}

TEST(Handshake, TruncatedHelloFails) {
  Middle middle;
  ServerHandshake server(make_job_key(), 0);
  Middle::give(middle.to_server, std::as_bytes(std::span("UNISONO\nx", 9)));
  EXPECT_EQ(server.step(middle.server.get()), HandshakeState::pending);
  middle.to_server.reset();
  EXPECT_EQ(server.step(middle.server.get()), HandshakeState::failed);
}

TEST(Handshake, GarbageIsSentAwayAtTheEighthByte) {
  Middle middle;
  ServerHandshake server(make_job_key(), 0);
  Middle::give(middle.to_server, std::as_bytes(std::span("GET / HTTP", 10)));
  EXPECT_EQ(server.step(middle.server.get()), HandshakeState::failed);
}

TEST(Handshake, ReadsNothingBeyondItsMessages) {
  const JobKey key = make_job_key();
  Middle middle;
  ClientHandshake client(key, kHello);
  ServerHandshake server(key, 1);
  client.step(middle.client.get());
  Bytes hello = Middle::take(middle.to_client);
  const Bytes more(5, std::byte{9});
  Middle::give(middle.to_server, hello);
  server.step(middle.server.get());
  Middle::give(middle.to_client, Middle::take(middle.to_server));
  client.step(middle.client.get());
  Bytes proof = Middle::take(middle.to_client);
  proof.insert(proof.end(), more.begin(), more.end());
  Middle::give(middle.to_server, proof);
  EXPECT_EQ(server.step(middle.server.get()), HandshakeState::done);
  EXPECT_EQ(Middle::take(middle.server), more);
}

}  // namespace
}  // namespace unisono::rendezvous
