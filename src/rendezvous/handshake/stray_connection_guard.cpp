// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/handshake/stray_connection_guard.hpp"

#include <utility>

#include "base/os/child_closes.hpp"
#include "rendezvous/handshake/handshake_acceptor.hpp"

namespace unisono::rendezvous {
namespace {

constexpr std::size_t kMostPending = 16;

class TcpStrayGuard final : public StrayConnectionGuard {
 public:
  TcpStrayGuard(Fd listener, const JobKey& key, Poller& poller, std::uint64_t before)
      : listener_(std::move(listener)),
        poller_(poller),
        acceptor_(key, 0, kMostPending),
        others_(before) {
    acceptor_.before_close = [this](int fd) { poller_.forget(fd); };
    watch(true);
  }
  ~TcpStrayGuard() override {
    for (const int fd : acceptor_.pending()) poller_.forget(fd);
    watch(false);
  }

  void serve(Time now) override {
    // The job is complete, so even one that holds the key is too late; its socket is closed here.
    others_ += acceptor_.step(now).size();
    for (const int fd : acceptor_.accept_from(listener_.get(), now)) {
      poller_.watch(fd, kDoorKey, true, false);
    }
    others_ += acceptor_.step(now).size();
    watch(!acceptor_.resting(now));
  }
  Time deadline() const override { return acceptor_.deadline(); }
  std::uint64_t strangers() const override { return others_ + acceptor_.strangers(); }

 private:
  // A listener that cannot be served would keep the engine from sleeping.
  void watch(bool wanted) {
    if (std::exchange(watched_, wanted) == wanted) return;
    if (wanted) {
      poller_.watch(listener_.get(), kDoorKey, true, false);
    } else {
      poller_.forget(listener_.get());
    }
  }

  Fd listener_;
  const ChildCloses closes_{listener_};
  Poller& poller_;
  HandshakeAcceptor acceptor_;
  std::uint64_t others_;
  bool watched_ = false;
};

}  // namespace

std::unique_ptr<StrayConnectionGuard> make_stray_guard(Fd listener, const JobKey& key,
                                                       Poller& poller, const Clock& clock,
                                                       std::uint64_t before) {
  auto guard = std::make_unique<TcpStrayGuard>(std::move(listener), key, poller, before);
  guard->serve(clock.now());
  return guard;
}

}  // namespace unisono::rendezvous
