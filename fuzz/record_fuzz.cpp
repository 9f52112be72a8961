// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Records of the join: what comes out of a channel must be what was sent into it, whatever somebody
// in between does; and the contents of the records are parsed.
#include <fcntl.h>
#include <sys/socket.h>

#include "base/os/fd.hpp"
#include "cost/links.hpp"
#include "rendezvous/bootstrap/root_exchange.hpp"
#include "rendezvous/handshake/record_stream.hpp"
#include "target.hpp"

namespace unisono::fuzz {
namespace {

constexpr std::size_t kLongest = 512;
using End = rendezvous::RecordStream::End;

std::pair<Fd, Fd> sockets() {
  int pair[2];
  must(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0,
       "no socket pair");
  return {Fd(pair[0]), Fd(pair[1])};
}

void raw(std::span<const std::byte> bytes) {
  auto [mine, theirs] = sockets();
  rendezvous::RecordStream channel(std::move(mine), rendezvous::Session{}, End::server, kLongest);
  static_cast<void>(::send(theirs.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  static_cast<void>(channel.pump());
}

void relay(Choices choices) {
  auto [mine, between] = sockets();
  rendezvous::Session session;
  session.record_key[0] = 5;
  rendezvous::RecordStream sender(std::move(mine), session, End::client, kLongest);
  std::vector<Bytes> sent;
  for (unsigned left = 1 + choices.below(3); left > 0; --left) {
    const auto record = choices.take(choices.below(40));
    sent.emplace_back(record.begin(), record.end());
    sender.send(record);
  }
  static_cast<void>(sender.pump());
  Bytes wire(8192);
  const ssize_t n = ::recv(between.get(), wire.data(), wire.size(), MSG_DONTWAIT);
  wire.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  damage(wire, choices);
  auto [end, feed] = sockets();
  rendezvous::RecordStream receiver(std::move(end), session, End::server, kLongest);
  static_cast<void>(::send(feed.get(), wire.data(), wire.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  static_cast<void>(receiver.pump());
  for (std::size_t i = 0;; ++i) {
    const auto record = receiver.next();
    if (!record) break;
    must(i < sent.size() && *record == sent[i], "a record came that was not sent");
  }
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  Choices choices(bytes);
  switch (choices.below(5)) {
    case 0: return raw(choices.rest());
    case 1: return relay(choices);
    case 2: {
      const auto record = rendezvous::decode_record(choices.rest());
      if (!record) must(record.status().code() <= Code::internal, "a code that does not exist");
      return;
    }
    case 4: {
      const auto found = cost::decode_measurement(choices.rest());
      if (!found) return;
      const cost::Costs costs = cost::agreed_costs(std::span(&*found, 1));
      for (const cost::LinkCost& link : costs.links) {
        must(link.seconds(1e6) > 0 && link.seconds(1e6) < 100, "a cost that is no time");
      }
      return;
    }
    default: {
      const std::size_t count = choices.below(5);
      if (auto words = rendezvous::decode_words(choices.rest(), count)) {
        must(words->size() == count, "another number of words than there are ranks");
        must(
            rendezvous::encode_words(*words) == Bytes(choices.rest().begin(), choices.rest().end()),
            "words that were read are not those that were written");
      }
    }
  }
}

std::vector<Bytes> seeds() {
  const Status lost(Code::peer_lost, "rank 1 went away", {1, "host", 4711, ""});
  return {chosen(0, chosen(3, Bytes(40))),
          chosen(1, bytes_of(std::string_view("\1\3abc\2de\0\0", 10))),
          chosen(2, rendezvous::encode_word(bytes_of("word"))),
          chosen(4, cost::encode_measurement({})),
          chosen(2, rendezvous::encode_failure(lost)),
          chosen(3, chosen(2, rendezvous::encode_words({bytes_of("one"), bytes_of("")})))};
}

}  // namespace unisono::fuzz
