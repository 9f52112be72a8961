// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/bootstrap/rendezvous.hpp"

#include <algorithm>
#include <optional>

#include "base/data/text.hpp"
#include "rendezvous/bootstrap/root_exchange.hpp"
#include "rendezvous/connect/addresses.hpp"
#include "rendezvous/connect/dialer.hpp"

namespace unisono::rendezvous {
namespace {

// After a contradiction the other ranks have this long to connect and be told of it, too.
constexpr Nanos kLateness{300'000'000};
constexpr Nanos kRetryFirst{2'000'000}, kRetryMax{100'000'000};
constexpr Nanos kMembersSlack{1'000'000'000};

struct Newcomer {
  std::unique_ptr<RecordStream> channel;
  std::optional<PeerRecord> peer_record;
};

// Returns what is wrong with a peer's record, given those that came before; ok when it is valid.
Status examine(const PeerRecord& peer_record, const PeerRecord& zero,
               const std::vector<Newcomer>& newcomers) {
  if (peer_record.size != zero.size) {
    return Status(Code::refused,
                  cat("rank 0 was told the job has ", zero.size, " ranks, rank ", peer_record.rank,
                      " (host ", peer_record.host, ", pid ", peer_record.pid, ") was told ",
                      peer_record.size, "; start all ranks with one size"));
  }
  const PeerRecord* twin = peer_record.rank == 0 ? &zero : nullptr;
  for (const Newcomer& other : newcomers) {
    if (other.peer_record && &*other.peer_record != &peer_record &&
        other.peer_record->rank == peer_record.rank)
      twin = &*other.peer_record;
  }
  if (twin != nullptr) {
    return Status(Code::refused, cat("two processes claim rank ", peer_record.rank, ": pid ",
                                     twin->pid, " on ", twin->host, " and pid ", peer_record.pid,
                                     " on ", peer_record.host, "; give each its own rank"));
  }
  if (peer_record.rank < 0 || peer_record.rank >= zero.size) {
    return Status(Code::refused,
                  cat("rank ", peer_record.rank, " does not exist in a job of ", zero.size));
  }
  return compare_options(zero, peer_record);
}

std::vector<RecordStream*> channels_of(const std::vector<Newcomer>& newcomers) {
  std::vector<RecordStream*> channels;
  for (const Newcomer& newcomer : newcomers) channels.push_back(newcomer.channel.get());
  return channels;
}

Status never_came(const BootstrapLoop& bootstrap, const PeerRecord& mine, double limit_s,
                  const std::vector<Newcomer>& newcomers) {
  std::vector<Rank> missing;
  for (Rank rank = 1; rank < mine.size; ++rank) {
    const auto is_it = [&](const Newcomer& n) {
      return n.peer_record && n.peer_record->rank == rank;
    };
    if (std::none_of(newcomers.begin(), newcomers.end(), is_it)) missing.push_back(rank);
  }
  std::string message =
      cat(missing.size() == 1 ? "rank " : "ranks ", join_text(missing), " of ", mine.size,
          " never came to rank 0 (host ", mine.host, ", pid ", mine.pid, ", ", mine.addresses,
          ") within ", limit_s, " s; see whether they were started and can reach that address");
  if (!bootstrap.acceptor().last_refusal().empty()) {
    message += cat(". One was sent away: ", bootstrap.acceptor().last_refusal());
  }
  return Status(Code::timed_out, message, {missing.front(), "", 0, ""});
}

RendezvousResult by_rank(const PeerRecord& mine, std::vector<Newcomer> newcomers) {
  RendezvousResult met;
  met.peer_records.resize(static_cast<std::size_t>(mine.size));
  met.channels.resize(static_cast<std::size_t>(mine.size));
  met.peer_records[0] = mine;
  for (Newcomer& newcomer : newcomers) {
    const auto rank = static_cast<std::size_t>(newcomer.peer_record->rank);
    met.peer_records[rank] = std::move(*newcomer.peer_record);
    met.channels[rank] = std::move(newcomer.channel);
  }
  for (PeerRecord& peer_record : met.peer_records) peer_record.options.clear();
  return met;
}

// Opens one authenticated connection to rank 0. After unavailable the caller may try again.
Result<Called> call_zero(BootstrapLoop& bootstrap, const PeerRecord& mine,
                         const std::vector<HostPort>& zero, Time deadline) {
  Dialer dialer(bootstrap, {kProtocolVersion, Purpose::join, mine.rank, mine.size, 0});
  dialer.seek(0, zero);
  while (dialer.answers.empty() && bootstrap.now() < deadline) {
    bootstrap.turn(std::min(deadline, dialer.due()));
    if (Status refused = dialer.advance(); !refused.ok()) return refused;
  }
  if (!dialer.answers.empty()) return std::move(dialer.answers.front().call);
  bootstrap.hang_up(Purpose::join, 0);
  return Status(Code::unavailable, dialer.trouble());
}

Result<RendezvousResult> read_table(std::span<const std::byte> record, const PeerRecord& mine) {
  auto word = decode_record(record);
  if (!word) return word.status();
  auto words = decode_words(*word, static_cast<std::size_t>(mine.size));
  if (!words) return words.status();
  RendezvousResult met;
  for (const auto& text : *words) {
    auto peer_record = decode_peer_record(text);
    if (!peer_record) return Status(Code::corrupted, "rank 0 sent an unreadable table of ranks");
    met.peer_records.push_back(std::move(*peer_record));
  }
  return met;
}

// Waits for the table of ranks. Returns nullopt when rank 0 closed the connection without an
// answer, e.g. because the engine that answered belongs to the job's previous join; the caller may
// try again.
Result<std::optional<RendezvousResult>> send_record(BootstrapLoop& bootstrap,
                                                    const PeerRecord& mine, Called call,
                                                    Time until) {
  const std::size_t table_bytes = static_cast<std::size_t>(mine.size) * 5120 + 65536;
  auto channel = std::make_unique<RecordStream>(std::move(call.socket), call.session,
                                                 RecordStream::End::client, table_bytes);
  channel->send(encode_peer_record(mine));
  RecordStream* const one[] = {channel.get()};
  for (;;) {
    channel->pump();
    if (const auto record = channel->next()) {
      auto met = read_table(*record, mine);
      if (!met) return met.status();
      met->channels.push_back(std::move(channel));
      return std::optional<RendezvousResult>(std::move(*met));
    }
    if (!channel->status().ok() || bootstrap.now() >= until)
      return std::optional<RendezvousResult>();
    bootstrap.turn(until, one);
  }
}

}  // namespace

Result<RendezvousResult> rendezvous_as_root(BootstrapLoop& bootstrap, const PeerRecord& mine,
                                            double limit_s, const std::function<void()>& all_came) {
  const Time deadline = bootstrap.now() + seconds_to_nanos(limit_s);
  Time until = deadline;
  std::vector<Newcomer> newcomers;
  Status trouble;
  for (;;) {
    for (Arrival& arrival : bootstrap.arrivals) {
      if (arrival.hello.purpose != Purpose::join) continue;
      newcomers.push_back(
          {std::make_unique<RecordStream>(std::move(arrival.socket), arrival.session,
                                           RecordStream::End::server, kPeerRecordBytesMax),
           {}});
    }
    bootstrap.arrivals.clear();
    for (Newcomer& newcomer : newcomers) {
      const auto record = newcomer.peer_record ? std::nullopt : newcomer.channel->next();
      if (!record) continue;
      newcomer.peer_record = decode_peer_record(*record);
      Status bad = newcomer.peer_record
                       ? examine(*newcomer.peer_record, mine, newcomers)
                       : Status(Code::corrupted,
                                "a rank sent a record of itself that cannot be read");
      if (!bad.ok() && trouble.ok()) {
        trouble = std::move(bad);
        until = std::min(until, bootstrap.now() + kLateness);
      }
    }
    // A rank that closed its connection may connect again, so its place is free.
    std::erase_if(newcomers, [](const Newcomer& n) { return !n.channel->status().ok(); });
    const auto shown = std::count_if(newcomers.begin(), newcomers.end(),
                                     [](const Newcomer& n) { return n.peer_record.has_value(); });
    if (shown >= mine.size - 1 || bootstrap.now() >= until) break;
    bootstrap.turn(until, channels_of(newcomers));
  }
  const auto shown = std::count_if(newcomers.begin(), newcomers.end(),
                                   [](const Newcomer& n) { return n.peer_record.has_value(); });
  if (trouble.ok() && shown < mine.size - 1) {
    trouble = never_came(bootstrap, mine, limit_s, newcomers);
  }
  if (!trouble.ok()) {
    for (Newcomer& newcomer : newcomers) newcomer.channel->send(encode_failure(trouble));
    flush(bootstrap, channels_of(newcomers));
    return trouble;
  }
  std::erase_if(newcomers, [](const Newcomer& n) { return !n.peer_record; });
  all_came();
  RendezvousResult met = by_rank(mine, std::move(newcomers));
  Words words;
  for (const PeerRecord& peer_record : met.peer_records)
    words.push_back(encode_peer_record(peer_record));
  const auto table = encode_word(encode_words(words));
  for (const auto& channel : met.channels) {
    if (!channel) continue;
    channel->send(table);
    channel->pump();
  }
  return met;
}

Result<RendezvousResult> rendezvous_as_member(BootstrapLoop& bootstrap, const PeerRecord& mine,
                                              const std::vector<HostPort>& zero,
                                              Time deadline) {
  const std::string where = addresses_text(zero);
  std::string last = "it was never reached";
  for (Nanos pause = kRetryFirst; bootstrap.now() < deadline;
       pause = std::min(pause * 2, kRetryMax)) {
    auto call = call_zero(bootstrap, mine, zero, deadline);
    if (!call) {
      if (call.status().code() == Code::refused) {
        return Status(Code::refused, cat(call.status().message(), " (rank 0 at ", where, ")"));
      }
      last = call.status().message();
    } else {
      auto met = send_record(bootstrap, mine, std::move(*call), deadline + kMembersSlack);
      if (!met) return met.status();
      if (met->has_value()) return std::move(**met);
      last = "it closed the connection before all ranks had come";
    }
    const Time again = std::min(bootstrap.now() + pause, deadline);
    while (bootstrap.now() < again) bootstrap.turn(again);
  }
  return Status(Code::timed_out,
                cat("rank ", mine.rank, " could not join through rank 0 at ", where, ": ", last,
                    "; see whether rank 0 runs and can be reached from ", mine.host),
                {0, "", 0, ""});
}

}  // namespace unisono::rendezvous
