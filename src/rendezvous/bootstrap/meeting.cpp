// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/bootstrap/meeting.hpp"

#include <algorithm>
#include <optional>

#include "base/data/text.hpp"
#include "rendezvous/bootstrap/council.hpp"

namespace unisono {
namespace {

// After a contradiction the others get this long to come and be told too.
constexpr Nanos kLateness{300'000'000};
constexpr Nanos kRetryFirst{2'000'000}, kRetryMost{100'000'000};
constexpr Nanos kMembersSlack{1'000'000'000};

struct Newcomer {
  std::unique_ptr<RecordChannel> channel;
  std::optional<Card> card;
};

// What is wrong with a card, given those that came before; ok when nothing is.
Status examine(const Card& card, const Card& zero, const std::vector<Newcomer>& newcomers) {
  if (card.size != zero.size) {
    return Status(Code::refused, cat("rank 0 was told the job has ", zero.size, " ranks, rank ",
                                     card.rank, " (host ", card.host, ", pid ", card.pid,
                                     ") was told ", card.size, "; start all ranks with one size"));
  }
  const Card* twin = card.rank == 0 ? &zero : nullptr;
  for (const Newcomer& other : newcomers) {
    if (other.card && &*other.card != &card && other.card->rank == card.rank) twin = &*other.card;
  }
  if (twin != nullptr) {
    return Status(Code::refused, cat("two processes claim rank ", card.rank, ": pid ", twin->pid,
                                     " on ", twin->host, " and pid ", card.pid, " on ", card.host,
                                     "; give each its own rank"));
  }
  if (card.rank < 0 || card.rank >= zero.size) {
    return Status(Code::refused,
                  cat("rank ", card.rank, " does not exist in a job of ", zero.size));
  }
  return compare_options(zero, card);
}

std::vector<RecordChannel*> channels_of(const std::vector<Newcomer>& newcomers) {
  std::vector<RecordChannel*> channels;
  for (const Newcomer& newcomer : newcomers) channels.push_back(newcomer.channel.get());
  return channels;
}

Status never_came(const Lobby& lobby, const Card& mine, double limit_s,
                  const std::vector<Newcomer>& newcomers) {
  std::vector<Rank> missing;
  for (Rank rank = 1; rank < mine.size; ++rank) {
    const auto is_it = [&](const Newcomer& n) { return n.card && n.card->rank == rank; };
    if (std::none_of(newcomers.begin(), newcomers.end(), is_it)) missing.push_back(rank);
  }
  std::string message =
      cat(missing.size() == 1 ? "rank " : "ranks ", join_text(missing), " of ", mine.size,
          " never came to rank 0 (host ", mine.host, ", pid ", mine.pid, ", ", mine.address,
          ") within ", limit_s, " s; see whether they were started and can reach that address");
  if (!lobby.reception().last_refusal().empty()) {
    message += cat(". One was sent away: ", lobby.reception().last_refusal());
  }
  return Status(Code::timed_out, message, {missing.front(), "", 0, ""});
}

Met seat_all(const Card& mine, std::vector<Newcomer> newcomers) {
  Met met;
  met.cards.resize(static_cast<std::size_t>(mine.size));
  met.channels.resize(static_cast<std::size_t>(mine.size));
  met.cards[0] = mine;
  for (Newcomer& newcomer : newcomers) {
    const auto rank = static_cast<std::size_t>(newcomer.card->rank);
    met.cards[rank] = std::move(*newcomer.card);
    met.channels[rank] = std::move(newcomer.channel);
  }
  for (Card& card : met.cards) card.options.clear();
  return met;
}

// One authenticated connection to rank 0. unavailable is worth another try.
Result<Called> call_zero(Lobby& lobby, const Card& mine, const HostPort& zero, Time deadline) {
  auto socket = start_tcp(zero);
  if (!socket) return socket.status();
  lobby.call({kProtocolVersion, Purpose::join, mine.rank, mine.size, 0}, std::move(*socket));
  while (lobby.called.empty() && lobby.now() < deadline) lobby.turn(deadline);
  if (lobby.called.empty()) return Status(Code::unavailable, "it does not answer");
  Called call = std::move(lobby.called.front());
  lobby.called.clear();
  if (!call.status.ok()) return call.status;
  return call;
}

Result<Met> read_table(std::span<const std::byte> record, const Card& mine) {
  auto word = decode_record(record);
  if (!word) return word.status();
  auto words = decode_words(*word, static_cast<std::size_t>(mine.size));
  if (!words) return words.status();
  Met met;
  for (const auto& text : *words) {
    auto card = decode_card(text);
    if (!card) return Status(Code::corrupted, "rank 0 sent an unreadable table of ranks");
    met.cards.push_back(std::move(*card));
  }
  return met;
}

// Waits for the table. nullopt: rank 0 went away without a word, e.g. because the engine that
// answered belongs to the job's previous join; worth another try.
Result<std::optional<Met>> show_card(Lobby& lobby, const Card& mine, Called call, Time until) {
  const std::size_t table_bytes = static_cast<std::size_t>(mine.size) * 5120 + 65536;
  auto channel = std::make_unique<RecordChannel>(std::move(call.socket), call.session,
                                                 RecordChannel::End::client, table_bytes);
  channel->send(encode(mine));
  RecordChannel* const one[] = {channel.get()};
  for (;;) {
    channel->pump();
    if (const auto record = channel->next()) {
      auto met = read_table(*record, mine);
      if (!met) return met.status();
      met->channels.push_back(std::move(channel));
      return std::optional<Met>(std::move(*met));
    }
    if (!channel->status().ok() || lobby.now() >= until) return std::optional<Met>();
    lobby.turn(until, one);
  }
}

}  // namespace

Result<Met> meet_as_zero(Lobby& lobby, const Card& mine, double limit_s,
                         const std::function<void()>& all_came) {
  const Time deadline = lobby.now() + seconds_to_nanos(limit_s);
  Time until = deadline;
  std::vector<Newcomer> newcomers;
  Status trouble;
  for (;;) {
    for (Arrival& arrival : lobby.arrivals) {
      if (arrival.hello.purpose != Purpose::join) continue;
      newcomers.push_back(
          {std::make_unique<RecordChannel>(std::move(arrival.socket), arrival.session,
                                           RecordChannel::End::server, kCardBytesMost),
           {}});
    }
    lobby.arrivals.clear();
    for (Newcomer& newcomer : newcomers) {
      const auto record = newcomer.card ? std::nullopt : newcomer.channel->next();
      if (!record) continue;
      newcomer.card = decode_card(*record);
      Status bad = newcomer.card ? examine(*newcomer.card, mine, newcomers)
                                 : Status(Code::corrupted, "a rank showed an unreadable card");
      if (!bad.ok() && trouble.ok()) {
        trouble = std::move(bad);
        until = std::min(until, lobby.now() + kLateness);
      }
    }
    // One that went away again may come back, so its seat is free.
    std::erase_if(newcomers, [](const Newcomer& n) { return !n.channel->status().ok(); });
    const auto shown = std::count_if(newcomers.begin(), newcomers.end(),
                                     [](const Newcomer& n) { return n.card.has_value(); });
    if (shown >= mine.size - 1 || lobby.now() >= until) break;
    lobby.turn(until, channels_of(newcomers));
  }
  const auto shown = std::count_if(newcomers.begin(), newcomers.end(),
                                   [](const Newcomer& n) { return n.card.has_value(); });
  if (trouble.ok() && shown < mine.size - 1) {
    trouble = never_came(lobby, mine, limit_s, newcomers);
  }
  if (!trouble.ok()) {
    for (Newcomer& newcomer : newcomers) newcomer.channel->send(encode_failure(trouble));
    flush(lobby, channels_of(newcomers));
    return trouble;
  }
  std::erase_if(newcomers, [](const Newcomer& n) { return !n.card; });
  all_came();
  Met met = seat_all(mine, std::move(newcomers));
  Words words;
  for (const Card& card : met.cards) words.push_back(encode(card));
  const auto table = encode_word(encode_words(words));
  for (const auto& channel : met.channels) {
    if (!channel) continue;
    channel->send(table);
    channel->pump();
  }
  return met;
}

Result<Met> meet_as_member(Lobby& lobby, const Card& mine, const HostPort& zero, Time deadline) {
  const std::string where = address_text(zero.host, zero.port);
  std::string last = "it was never reached";
  for (Nanos pause = kRetryFirst; lobby.now() < deadline; pause = std::min(pause * 2, kRetryMost)) {
    auto call = call_zero(lobby, mine, zero, deadline);
    if (!call) {
      if (call.status().code() == Code::refused) {
        return Status(Code::refused, cat(call.status().message(), " (rank 0 at ", where, ")"));
      }
      last = call.status().message();
    } else {
      auto met = show_card(lobby, mine, std::move(*call), deadline + kMembersSlack);
      if (!met) return met.status();
      if (met->has_value()) return std::move(**met);
      last = "it closed the connection before all ranks had come";
    }
    const Time again = std::min(lobby.now() + pause, deadline);
    while (lobby.now() < again) lobby.turn(again);
  }
  return Status(Code::timed_out,
                cat("rank ", mine.rank, " could not join through rank 0 at ", where, ": ", last,
                    "; see whether rank 0 runs and can be reached from ", mine.host),
                {0, "", 0, ""});
}

}  // namespace unisono
