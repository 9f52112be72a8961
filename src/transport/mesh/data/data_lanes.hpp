// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The data between this rank and one peer: its stripes, which share what is sent, and the matching of
// what arrives.
//
// Each tag has a home stripe, so that data of one tag keeps its order, and adjacent tags have
// different ones, so that the parts of a tensor use all of them. When the home has much to send, data
// goes to the stripe with the shortest backlog instead, if no data of that tag is still on its way;
// only lanes that heal know that.
// Where I/O threads drive and there are several stripes, the first one is the engine's: what hurries
// goes there, because waking a thread at either end would take longer, and the rest to the others.
// Thread: the one that drives the engine.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "transport/mesh/data/io_thread.hpp"
#include "transport/mesh/data/stripe.hpp"

namespace unisono::transport {

class DataLanes {
 public:
  // Without lanes there are `stripes` that wait for a stream. With `io` its threads drive them.
  DataLanes(std::size_t stripes, std::uint32_t epoch, bool heals, IoThreads* io,
            std::vector<LaneStream> lanes);

  std::size_t size() const { return stripes_.size(); }
  Stripe& operator[](std::size_t stripe) { return *stripes_[stripe]; }
  const Stripe& operator[](std::size_t stripe) const { return *stripes_[stripe]; }

  void send(Label label, std::span<const std::byte> bytes, Transfer& done);
  // Returns not ok when what has come is something else: the transfer has failed then.
  Status receive(Label label, std::span<std::byte> bytes, Transfer& done);
  // Returns false when there is no memory for it.
  bool abandon(Transfer& transfer) noexcept;
  // The peer has so many frames of a stripe; returns corrupted when it cannot.
  Status acknowledged(std::size_t stripe, std::uint64_t frames);

  // The peer has all that was sent.
  void confirm_all();

  void say_goodbye();
  // Ends the writing of stripes whose goodbye is out and on which the peer has ended, or of all.
  void finish_writing(bool all);
  // Takes in what has come on stripes that have not ended.
  void read_to_the_end();
  // Fails receives for which nothing more can come: every stripe has ended.
  void end_receives();
  void close();
  // After close(): all receives fail. `peer_left`: what is here can still be received.
  void fail(bool peer_left) { peer_left ? box_.end() : box_.fail(); }

  bool ready() const { return any([](const Stripe& each) { return each.ready(); }); }
  bool open() const { return all([](const Stripe& each) { return each.open(); }); }
  bool ended() const { return all([](const Stripe& each) { return each.ended(); }); }
  bool idle() const { return all([](const Stripe& each) { return each.idle(); }); }
  bool resumed() const { return all([](const Stripe& each) { return each.resumed(); }); }
  bool owes() const { return any([](const Stripe& each) { return each.owes(); }); }
  bool owes_much() const { return any([](const Stripe& each) { return each.owes_much(); }); }
  std::uint64_t bytes_in() const { return sum(&Stripe::bytes_in); }
  std::uint64_t bytes_out() const { return sum(&Stripe::bytes_out); }

 private:
  // The tags of frames that the peer may not have yet, oldest first.
  struct OnTheWay {
    std::deque<Tag> tags;
    std::uint64_t first = 0;              // the number of the oldest frame
    bool has(Tag tag) const;
  };

  template <typename Test>
  bool all(Test test) const {
    for (const auto& stripe : stripes_) {
      if (!test(*stripe)) return false;
    }
    return true;
  }
  template <typename Test>
  bool any(Test test) const {
    return !all([&](const Stripe& each) { return !test(each); });
  }
  std::uint64_t sum(std::uint64_t (Stripe::*figure)() const) const;
  std::size_t home_of(Tag tag) const;
  std::size_t choose(const Label& label) const;
  // What hurries is where it belongs.
  bool is_away(Tag tag, std::size_t stripe) const {
    return !(first_hurries_ && stripe == 0) && home_of(tag) != stripe;
  }

  const bool heals_;
  const bool first_hurries_;
  Postbox box_;
  std::vector<std::unique_ptr<Stripe>> stripes_;
  std::vector<OnTheWay> on_the_way_;      // by stripe; only where there is a choice
  std::size_t away_ = 0;                  // how many of them are not on their home stripe
  bool box_ended_ = false;
};

}  // namespace unisono::transport
