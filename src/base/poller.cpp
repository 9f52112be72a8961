// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/poller.hpp"

#include <sys/epoll.h>

#include <cerrno>
#include <ctime>

#include "base/check.hpp"

namespace unisono {
namespace {
epoll_event event_for(std::uint64_t key, bool read, bool write) {
  epoll_event event{};
  event.events = (read ? EPOLLIN | EPOLLRDHUP : 0u) | (write ? EPOLLOUT : 0u);
  event.data.u64 = key;
  return event;
}
}  // namespace

Poller::Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) { UNISONO_CHECK(epoll_.valid()); }

void Poller::watch(int fd, std::uint64_t key, bool read, bool write) {
  epoll_event event = event_for(key, read, write);
  UNISONO_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0);
}

void Poller::change(int fd, std::uint64_t key, bool read, bool write) {
  epoll_event event = event_for(key, read, write);
  UNISONO_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0);
}

void Poller::forget(int fd) { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

std::vector<Poller::Ready> Poller::wait(Nanos limit) {
  constexpr int kMost = 64;
  epoll_event events[kMost];
  const timespec spec{static_cast<time_t>(limit.count() / 1'000'000'000),
                      static_cast<long>(limit.count() % 1'000'000'000)};
  const int n =
      ::epoll_pwait2(epoll_.get(), events, kMost, limit.count() < 0 ? nullptr : &spec, nullptr);
  UNISONO_CHECK(n >= 0 || errno == EINTR);
  std::vector<Ready> ready;
  for (int i = 0; i < n; ++i) {
    ready.push_back({events[i].data.u64, (events[i].events & EPOLLIN) != 0,
                     (events[i].events & EPOLLOUT) != 0,
                     (events[i].events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0});
  }
  return ready;
}

}  // namespace unisono
