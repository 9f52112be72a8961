// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mesh/mesh.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "transport/mesh/peer_link.hpp"

namespace unisono::transport {
namespace {

class Mesh final : public Transport {
 public:
  Mesh(MeshSettings settings, std::vector<PeerLanes> lanes)
      : settings_(std::move(settings)), io_(settings_.io_threads, settings_.bell, settings_.io_spin) {
    UNISONO_CHECK(lanes.size() == settings_.peers.size());
    links_.resize(lanes.size());
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      if (static_cast<Rank>(i) == settings_.rank) continue;
      links_[i] = std::make_unique<PeerLink>(settings_.peers[i], std::move(lanes[i]), settings_,
                                             io_);
      others_.push_back(links_[i].get());
      if (links_[i]->known()) used_.push_back(links_[i].get());
    }
    io_.start();
  }
  ~Mesh() override { io_.stop(); }

  std::string_view name() const override { return settings_.name; }
  Rank rank() const override { return settings_.rank; }
  int size() const override { return static_cast<int>(links_.size()); }
  std::size_t stripes() const override { return settings_.stripes; }

  void post(Rank peer, std::span<const std::byte> message) override {
    UNISONO_CHECK(message.size() <= kMessageBytesMax);
    if (!use(peer).post(message)) return;
    ++stats_.control_messages;
    stats_.control_bytes += message.size();
  }
  void send(Rank peer, Label label, std::span<const std::byte> bytes, Transfer& done) override {
    UNISONO_CHECK(bytes.size() <= kDataBytesMax);
    if (use(peer).send(label, bytes, done)) stats_.data_bytes += bytes.size();
  }
  void receive(Rank peer, Label label, std::span<std::byte> bytes, Transfer& done) override {
    link(peer).receive(label, bytes, done);
  }
  void abandon(Rank peer, Transfer& transfer) override { use(peer).abandon(transfer); }

  bool progress(TransportListener& listener) override {
    bool moved = io_.take_news();
    moved |= settings_.connector != nullptr && settings_.connector->has_news() && take_news();
    // What a thread has found may be of any peer.
    const bool tries_all = moved || settings_.poller == nullptr || used_.size() <= kFewPeers;
    if (!tries_all) find_ready();
    // By index: whoever hears of something may use a further link.
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (tries_all || used_[i]->needs_pass()) moved |= used_[i]->progress(listener);
    }
    return moved;
  }
  bool ready() const override {
    if (io_.has_news()) return true;
    if (settings_.connector != nullptr && settings_.connector->has_news()) return true;
    for (const PeerLink* link : used_) {
      if (link->ready()) return true;
    }
    return false;
  }
  void beat(Time now, TransportListener& listener) override {
    // A rank that was itself stopped or starved has heard nobody; its peers are not to blame.
    const bool fresh = !has_beaten_ || now - beaten_at_ > settings_.dead_after / 2;
    has_beaten_ = true;
    beaten_at_ = now;
    for (std::size_t i = 0; i < used_.size(); ++i) used_[i]->beat(now, fresh, listener);
  }
  void leave() override {
    for (PeerLink* link : others_) link->leave();
  }
  bool left() const override {
    for (const PeerLink* link : others_) {
      if (!link->left()) return false;
    }
    return true;
  }
  bool knows(Rank peer) const override {
    return peer == settings_.rank || links_[static_cast<std::size_t>(peer)]->met();
  }
  void give_up(Rank peer) override { link(peer).give_up(); }
  bool settled() const override {
    return std::all_of(used_.begin(), used_.end(),
                       [](const PeerLink* link) { return link->settled(); });
  }
  TransportStats stats() const override {
    TransportStats stats = stats_;
    for (const PeerLink* link : used_) {
      stats.connections += link->connections();
      stats.reconnections += link->reconnections();
    }
    return stats;
  }
  bool bind_threads(std::span<const int> cpus) override { return io_.bind(cpus); }

 private:
  // With fewer, asking who has news costs more than trying.
  static constexpr std::size_t kFewPeers = 2;

  void find_ready() {
    ready_keys_.clear();
    settings_.poller->ready_streams(ready_keys_);
    for (const std::uint64_t key : ready_keys_) {
      const auto peer = static_cast<std::size_t>(key - settings_.first_key);
      if (peer < links_.size() && links_[peer] != nullptr) links_[peer]->has_news();
    }
  }
  bool take_news() {
    for (Connection& connection : settings_.connector->take_connections()) {
      use(connection.peer).attach(std::move(connection));
    }
    for (const Unreachable& gone : settings_.connector->take_unreachable()) {
      use(gone.peer).unreachable(gone.why);
    }
    return true;
  }
  // From now on the link is looked after, as those are not that nobody has ever used.
  PeerLink& use(Rank peer) {
    PeerLink& one = link(peer);
    if (!one.known() && std::ranges::find(used_, &one) == used_.end()) used_.push_back(&one);
    return one;
  }
  PeerLink& link(Rank peer) {
    UNISONO_CHECK(peer >= 0 && peer < size() && peer != settings_.rank);
    return *links_[static_cast<std::size_t>(peer)];
  }

  MeshSettings settings_;
  IoThreads io_;                            // outlives the links, which it no longer drives then
  std::vector<std::unique_ptr<PeerLink>> links_;  // by rank; null for this one
  std::vector<PeerLink*> others_, used_;
  std::vector<std::uint64_t> ready_keys_;
  TransportStats stats_;
  bool has_beaten_ = false;
  Time beaten_at_;
};

}  // namespace

std::unique_ptr<Transport> make_mesh(MeshSettings settings, std::vector<PeerLanes> lanes) {
  return std::make_unique<Mesh>(std::move(settings), std::move(lanes));
}

}  // namespace unisono::transport
