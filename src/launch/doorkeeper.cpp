// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "launch/doorkeeper.hpp"

#include "base/child_closes.hpp"
#include "launch/reception.hpp"

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
    poller_.watch(listener_.get(), kDoorKey, true, false);
  }
  ~TcpDoorkeeper() override {
    for (const int fd : reception_.pending()) poller_.forget(fd);
    poller_.forget(listener_.get());
  }

  void serve(Time now) override {
    for (const int fd : reception_.accept_from(listener_.get(), now)) {
      poller_.watch(fd, kDoorKey, true, false);
    }
    // The job is complete, so even one that holds the key has no seat; its socket closes here.
    others_ += reception_.step(now).size();
  }
  Time deadline() const override { return reception_.deadline(); }
  std::uint64_t strangers() const override { return others_ + reception_.strangers(); }

 private:
  Fd listener_;
  const ChildCloses closes_{listener_};
  Poller& poller_;
  Reception reception_;
  std::uint64_t others_;
};

}  // namespace

std::unique_ptr<Doorkeeper> make_doorkeeper(Fd listener, const JobKey& key, Poller& poller,
                                            const Clock& clock, std::uint64_t before) {
  auto keeper = std::make_unique<TcpDoorkeeper>(std::move(listener), key, poller, before);
  keeper->serve(clock.now());
  return keeper;
}

}  // namespace unisono
