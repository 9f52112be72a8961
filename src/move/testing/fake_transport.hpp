// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Ranks in one thread for the tests of move/: a Hub joins N fake transports and delivers in an
// order drawn from a seed, in order within each lane. It is stricter than a real transport: bytes
// of an open send must not change, those of an open receive are overwritten with rubbish at once,
// and a send may be reported done long after its bytes arrived.
// Thread: one. The Hub outlives its machines.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/data/rng.hpp"
#include "transport/transport.hpp"

namespace unisono::move {

class FakeHub {
 public:
  FakeHub(int size, std::uint64_t seed) : rng_(seed) {
    for (int rank = 0; rank < size; ++rank) {
      transports_.push_back(std::make_unique<FakeTransport>(*this, rank, size));
    }
  }
  transport::Transport& at(Rank rank) { return *transports_[static_cast<std::size_t>(rank)]; }
  int size() const { return static_cast<int>(transports_.size()); }
  Rng& rng() { return rng_; }

  // Moves one message, or reports one send as done; false when nothing can move.
  bool pump() {
    const std::size_t choices = late_.size() + links_.size();
    if (choices == 0) return false;
    const std::size_t choice = rng_.below(choices);
    if (choice < late_.size()) {
      finish(late_[choice]);
      late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(choice));
      return true;
    }
    auto link = links_.begin();
    std::advance(link, static_cast<std::ptrdiff_t>(choice - late_.size()));
    arrive(link->first, link->second.front());
    link->second.pop_front();
    if (link->second.empty()) links_.erase(link);
    return true;
  }

  // Fails every open transfer with the rank, and every later one.
  void lose(Rank rank) {
    for (auto& [key, receive] : receives_) {
      if (key.from == rank || key.to == rank)
        receive.done->state = transport::Transfer::State::failed;
    }
    lost_ = rank;
  }
  std::size_t messages() const { return messages_; }
  std::uint64_t bytes() const { return bytes_; }  // of all of them
  // Receives that failed because what came had another identity.
  std::size_t disagreements() const { return disagreements_; }

 private:
  struct Key {
    Rank from, to;
    transport::Tag tag;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Send {
    Key key;
    std::uint64_t identity;
    std::span<const std::byte> bytes;
    std::vector<std::byte> copy;
    transport::Transfer* done;
  };
  struct Receive {
    std::uint64_t identity;
    std::span<std::byte> bytes;
    transport::Transfer* done;
  };

  class FakeTransport final : public transport::Transport {
   public:
    FakeTransport(FakeHub& hub, Rank rank, int size) : hub_(hub), rank_(rank), size_(size) {}
    std::string_view name() const override { return "fake"; }
    Rank rank() const override { return rank_; }
    int size() const override { return size_; }
    void post(Rank, std::span<const std::byte>) override {}
    void send(Rank peer, transport::Label label, std::span<const std::byte> bytes,
              transport::Transfer& done) override {
      hub_.send({rank_, peer, label.tag}, label.identity, bytes, done);
    }
    void receive(Rank peer, transport::Label label, std::span<std::byte> bytes,
                 transport::Transfer& done) override {
      hub_.receive({peer, rank_, label.tag}, label.identity, bytes, done);
    }
    void abandon(Rank, transport::Transfer& transfer) override { hub_.abandon(transfer); }
    bool progress(transport::TransportListener&) override { return hub_.pump(); }
    bool ready() const override { return true; }
    void beat(Time, transport::TransportListener&) override {}
    void leave() override {}
    bool left() const override { return true; }
    transport::TransportStats stats() const override { return {}; }

   private:
    FakeHub& hub_;
    const Rank rank_;
    const int size_;
  };

  bool refuses(const Key& key, transport::Transfer& done) const {
    if (key.from != lost_ && key.to != lost_) return false;
    done.state = transport::Transfer::State::failed;
    return true;
  }

  void send(Key key, std::uint64_t identity, std::span<const std::byte> bytes,
            transport::Transfer& done) {
    if (refuses(key, done)) return;
    UNISONO_CHECK(key.from != key.to && !bytes.empty());
    UNISONO_CHECK(++open_sends_[key] == 1);
    done.state = transport::Transfer::State::active;
    ++messages_;
    bytes_ += bytes.size();
    links_[{key.from, key.to}].push_back(
        {key, identity, bytes, {bytes.begin(), bytes.end()}, &done});
  }

  void receive(Key key, std::uint64_t identity, std::span<std::byte> bytes,
               transport::Transfer& done) {
    if (refuses(key, done)) return;
    UNISONO_CHECK(key.from != key.to && !bytes.empty());
    UNISONO_CHECK(!receives_.contains(key));
    std::memset(bytes.data(), 0xA5, bytes.size());
    done.state = transport::Transfer::State::active;
    auto early = early_.find(key);
    if (early == early_.end()) {
      receives_[key] = {identity, bytes, &done};
      return;
    }
    deliver({identity, bytes, &done}, early->second.front());
    early->second.pop_front();
    if (early->second.empty()) early_.erase(early);
  }

  // The memory may be gone from here on: copies stand for what was to be sent, and what was to be
  // received lands nowhere.
  void abandon(transport::Transfer& transfer) {
    const auto let_go = [&](Send& sent) {
      if (sent.done == &transfer) sent.done = nullptr;
    };
    for (auto& [ends, queue] : links_) std::for_each(queue.begin(), queue.end(), let_go);
    for (auto& [key, queue] : early_) std::for_each(queue.begin(), queue.end(), let_go);
    std::for_each(late_.begin(), late_.end(), let_go);
    for (auto& [key, receive] : receives_) {
      if (receive.done == &transfer) receive.done = nullptr;
    }
    if (!transfer.done()) transfer.state = transport::Transfer::State::failed;
  }

  void arrive(std::pair<Rank, Rank>, const Send& sent) {
    auto waiting = receives_.find(sent.key);
    if (waiting == receives_.end()) {
      early_[sent.key].push_back(sent);
    } else {
      const Receive receive = waiting->second;
      receives_.erase(waiting);
      deliver(receive, sent);
    }
    if (rng_.below(2) == 0) {
      finish(sent);
    } else {
      late_.push_back(sent);
    }
  }

  void deliver(const Receive& receive, const Send& sent) {
    if (receive.done == nullptr) return;
    if (receive.identity != sent.identity) {
      ++disagreements_;
      receive.done->state = transport::Transfer::State::failed;
      return;
    }
    UNISONO_CHECK(receive.bytes.size() == sent.copy.size());
    std::memcpy(receive.bytes.data(), sent.copy.data(), sent.copy.size());
    receive.done->state = transport::Transfer::State::done;
  }

  void finish(const Send& sent) {
    --open_sends_[sent.key];
    if (sent.done == nullptr) return;
    UNISONO_CHECK(std::memcmp(sent.bytes.data(), sent.copy.data(), sent.copy.size()) == 0);
    sent.done->state = transport::Transfer::State::done;
  }

  Rng rng_;
  Rank lost_ = -1;
  std::size_t messages_ = 0, disagreements_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<std::unique_ptr<FakeTransport>> transports_;
  std::map<std::pair<Rank, Rank>, std::deque<Send>> links_;
  std::map<Key, Receive> receives_;
  std::map<Key, std::deque<Send>> early_;
  std::map<Key, int> open_sends_;
  std::vector<Send> late_;
};

}  // namespace unisono::move
