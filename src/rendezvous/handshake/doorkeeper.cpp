// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/handshake/doorkeeper.hpp"

#include <utility>

#include "base/os/child_closes.hpp"
#include "rendezvous/handshake/reception.hpp"

namespace unisono {
namespace {

constexpr std::size_t kMostPending = 16;

class TcpDoorkeeper final : public Doorkeeper {
 public:
  TcpDoorkeeper(Fd listener, const JobKey& key, Poller& poller, std::uint64_t before)
      : listener_(std::move(listener)),
        poller_(poller),
        reception_(key, 0, kMostPending),
        others_(before) {
    reception_.before_close = [this](int fd) { poller_.forget(fd); };
    watch(true);
  }
  ~TcpDoorkeeper() override {
    for (const int fd : reception_.pending()) poller_.forget(fd);
    watch(false);
  }

  void serve(Time now) override {
    // The job is complete, so even one that holds the key has no seat; its socket closes here.
    others_ += reception_.step(now).size();
    for (const int fd : reception_.accept_from(listener_.get(), now)) {
      poller_.watch(fd, kDoorKey, true, false);
    }
    others_ += reception_.step(now).size();
    watch(!reception_.resting(now));
  }
  Time deadline() const override { return reception_.deadline(); }
  std::uint64_t strangers() const override { return others_ + reception_.strangers(); }

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
  Reception reception_;
  std::uint64_t others_;
  bool watched_ = false;
};

}  // namespace

std::unique_ptr<Doorkeeper> make_doorkeeper(Fd listener, const JobKey& key, Poller& poller,
                                            const Clock& clock, std::uint64_t before) {
  auto keeper = std::make_unique<TcpDoorkeeper>(std::move(listener), key, poller, before);
  keeper->serve(clock.now());
  return keeper;
}

}  // namespace unisono
