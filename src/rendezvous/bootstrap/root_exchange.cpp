// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/bootstrap/root_exchange.hpp"

#include <algorithm>

#include "base/data/status_bytes.hpp"
#include "base/data/text.hpp"

namespace unisono::rendezvous {
namespace {

enum class Kind : std::uint8_t { word = 0, failure = 1 };
constexpr Nanos kFlushPatience{300'000'000};
// Members wait a little longer than rank 0, whose message names the rank that did not answer.
constexpr Nanos kMembersSlack{1'000'000'000};

Status lost(const PeerInfo& peer, const std::string& doing) {
  return Status(Code::peer_lost, cat(peer.to_string(), " left while ", doing),
                {peer.rank, peer.host, peer.pid, ""});
}

}  // namespace

std::vector<std::byte> encode_word(std::span<const std::byte> word) {
  ByteWriter out;
  out.put(Kind::word);
  out.put_raw(word);
  return out.take();
}

std::vector<std::byte> encode_failure(const Status& why) {
  ByteWriter out;
  out.put(Kind::failure);
  put_status(out, why, {.message = 2048, .host = 256});
  return out.take();
}

Result<std::vector<std::byte>> decode_record(std::span<const std::byte> record) {
  const Status garbage(Code::corrupted, "a record during the join makes no sense");
  ByteReader in(record);
  const auto kind = in.get<Kind>();
  if (!in.ok()) return garbage;
  if (kind == Kind::word) {
    const auto word = in.get_raw(in.remaining());
    return std::vector<std::byte>(word.begin(), word.end());
  }
  Status failure = get_status(in);
  if (!in.finished() || kind != Kind::failure || failure.ok()) return garbage;
  return failure;
}

std::vector<std::byte> encode_words(const Words& words) {
  ByteWriter out;
  for (const auto& word : words) {
    out.put(static_cast<std::uint32_t>(word.size()));
    out.put_raw(word);
  }
  return out.take();
}

Result<Words> decode_words(std::span<const std::byte> bytes, std::size_t count) {
  ByteReader in(bytes);
  Words words;
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    const auto word = in.get_raw(in.get<std::uint32_t>());
    words.emplace_back(word.begin(), word.end());
  }
  if (!in.finished()) return Status(Code::corrupted, "rank 0's record during the join is garbled");
  return words;
}

void flush(BootstrapLoop& bootstrap, std::span<RecordStream* const> channels) {
  const Time until = bootstrap.now() + kFlushPatience;
  const auto unsent = [](const RecordStream* channel) {
    return channel->status().ok() && channel->wants_write();
  };
  for (RecordStream* channel : channels) channel->pump();
  while (std::any_of(channels.begin(), channels.end(), unsent) && bootstrap.now() < until) {
    bootstrap.turn(until, channels);
  }
}

RootExchange::RootExchange(BootstrapLoop& bootstrap, Rank self,
                           std::vector<std::unique_ptr<RecordStream>> channels,
                           std::vector<PeerInfo> peers, Time deadline)
    : bootstrap_(bootstrap),
      self_(self),
      channels_(std::move(channels)),
      peers_(std::move(peers)),
      deadline_(deadline) {}

std::vector<RecordStream*> RootExchange::all() const {
  std::vector<RecordStream*> open;
  for (const auto& channel : channels_) {
    if (channel) open.push_back(channel.get());
  }
  return open;
}

Status RootExchange::fail(const Status& why) {
  for (RecordStream* channel : all()) channel->send(encode_failure(why));
  flush(bootstrap_, all());
  return why;
}

Status RootExchange::news() {
  for (std::size_t r = 0; r < channels_.size(); ++r) {
    if (!channels_[r]) continue;
    // A word that is here belongs to the next exchange and stays; only a failure counts now.
    if (const auto* record = channels_[r]->peek()) {
      const Status told = decode_record(*record).status();
      if (!told.ok()) return self_ == 0 ? fail(told) : told;
    }
    if (!channels_[r]->status().ok()) {
      const Status gone = lost(peers_[r], "the ranks connected to each other");
      return self_ == 0 ? fail(gone) : gone;
    }
  }
  return {};
}

Result<Words> RootExchange::exchange(std::span<const std::byte> mine, const std::string& doing) {
  return self_ == 0 ? chair(mine, doing) : attend(mine, doing);
}

Result<Words> RootExchange::chair(std::span<const std::byte> mine, const std::string& doing) {
  Words words(peers_.size());
  std::vector<bool> heard(peers_.size());
  words[0].assign(mine.begin(), mine.end());
  heard[0] = true;
  const auto channels = all();
  for (;;) {
    for (std::size_t r = 1; r < peers_.size(); ++r) {
      if (heard[r]) continue;
      if (const auto record = channels_[r]->next()) {
        auto word = decode_record(*record);
        if (!word) return fail(word.status());
        words[r] = std::move(*word);
        heard[r] = true;
      } else if (!channels_[r]->status().ok()) {
        return fail(lost(peers_[r], doing));
      }
    }
    const auto silent = std::find(heard.begin(), heard.end(), false);
    if (silent == heard.end()) break;
    if (bootstrap_.now() >= deadline_) {
      const PeerInfo& peer = peers_[static_cast<std::size_t>(silent - heard.begin())];
      return fail(Status(Code::timed_out, cat(peer.to_string(), " did not answer while ", doing),
                         {peer.rank, peer.host, peer.pid, ""}));
    }
    bootstrap_.turn(deadline_, channels);
  }
  const auto record = encode_word(encode_words(words));
  for (RecordStream* channel : channels) channel->send(record);
  flush(bootstrap_, channels);
  return words;
}

Result<Words> RootExchange::attend(std::span<const std::byte> mine, const std::string& doing) {
  RecordStream& chair = *channels_.front();
  chair.send(encode_word(mine));
  const auto channels = all();
  const Time until = deadline_ + kMembersSlack;
  for (;;) {
    if (const auto record = chair.next()) {
      auto word = decode_record(*record);
      if (!word) return word.status();
      return decode_words(*word, peers_.size());
    }
    if (!chair.status().ok()) return lost(peers_[0], doing);
    if (bootstrap_.now() >= until) {
      return Status(Code::timed_out, cat(peers_[0].to_string(), " did not answer while ", doing),
                    {0, peers_[0].host, peers_[0].pid, ""});
    }
    bootstrap_.turn(until, channels);
  }
}

}  // namespace unisono::rendezvous
