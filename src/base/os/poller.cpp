// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/os/poller.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <climits>
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

int wait_finely(int epoll, epoll_event* events, int most, Nanos limit) {
  const timespec spec{static_cast<time_t>(limit.count() / 1'000'000'000),
                      static_cast<long>(limit.count() % 1'000'000'000)};
  return ::epoll_pwait2(epoll, events, most, limit.count() < 0 ? nullptr : &spec, nullptr);
}

// Rounds up: a sleep that ends early would make the last millisecond before a deadline a busy loop.
int wait_coarsely(int epoll, epoll_event* events, int most, Nanos limit) {
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
  return ::epoll_wait(
      epoll, events, most,
      limit.count() < 0 ? -1 : static_cast<int>(std::min<std::int64_t>(whole, INT_MAX)));
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
  constexpr int kMax = 64;
  epoll_event events[kMax];
  int n = -1;
  if (!coarse_.load(std::memory_order_relaxed)) {
    n = wait_finely(epoll_.get(), events, kMax, limit);
    // Older sandboxes refuse unknown calls with EPERM, which a wait never returns otherwise.
    if (n < 0 && (errno == ENOSYS || errno == EPERM))
      coarse_.store(true, std::memory_order_relaxed);
  }
  if (coarse_.load(std::memory_order_relaxed)) {
    n = wait_coarsely(epoll_.get(), events, kMax, limit);
  }
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
