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
constexpr int kEventsMax = 64;                // that one look takes
constexpr std::uint64_t kStreams = UINT64_MAX;  // the key of the set of streams in the other set

epoll_event event_for(std::uint64_t key, bool read, bool write) {
  epoll_event event{};
  event.events = (read ? EPOLLIN | EPOLLRDHUP : 0u) | (write ? EPOLLOUT : 0u);
  event.data.u64 = key;
  return event;
}

void control(const Fd& epoll, int what, int fd, std::uint64_t key, bool read, bool write) {
  epoll_event event = event_for(key, read, write);
  UNISONO_CHECK(::epoll_ctl(epoll.get(), what, fd, &event) == 0);
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

Poller::Poller()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), streams_(::epoll_create1(EPOLL_CLOEXEC)) {
  UNISONO_CHECK(epoll_.valid() && streams_.valid());
  watch(streams_.get(), kStreams, true, false);
}

void Poller::watch(int fd, std::uint64_t key, bool read, bool write) {
  control(epoll_, EPOLL_CTL_ADD, fd, key, read, write);
}
void Poller::watch_timer(int fd, std::uint64_t key) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.u64 = key;
  UNISONO_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0);
}
void Poller::forget(int fd) { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void Poller::watch_stream(int fd, std::uint64_t key, bool read, bool write) {
  control(streams_, EPOLL_CTL_ADD, fd, key, read, write);
  ++stream_count_;
}
void Poller::change_stream(int fd, std::uint64_t key, bool read, bool write) {
  control(streams_, EPOLL_CTL_MOD, fd, key, read, write);
}
void Poller::forget_stream(int fd) {
  ::epoll_ctl(streams_.get(), EPOLL_CTL_DEL, fd, nullptr);
  --stream_count_;
}

void Poller::mute_streams(bool muted) {
  if (muted == muted_ || (muted && stream_count_.load(std::memory_order_relaxed) == 0)) return;
  muted_ = muted;
  // What has arrived meanwhile counts as news when the set is watched again.
  control(epoll_, EPOLL_CTL_MOD, streams_.get(), kStreams, !muted, false);
}

std::vector<Poller::Ready> Poller::wait(Nanos limit) {
  std::vector<Ready> ready;
  collect(epoll_, limit, ready);
  const auto streams = std::ranges::find(ready, kStreams, &Ready::key);
  if (streams != ready.end()) {
    ready.erase(streams);
    collect(streams_, Nanos(0), ready);
  }
  return ready;
}

void Poller::ready_streams(std::vector<std::uint64_t>& keys) {
  if (stream_count_.load(std::memory_order_relaxed) == 0) return;
  epoll_event events[kEventsMax];
  const int n = ::epoll_wait(streams_.get(), events, kEventsMax, 0);
  for (int i = 0; i < n; ++i) keys.push_back(events[i].data.u64);
}

void Poller::collect(const Fd& epoll, Nanos limit, std::vector<Ready>& ready) {
  epoll_event events[kEventsMax];
  int n = -1;
  if (!coarse_.load(std::memory_order_relaxed)) {
    n = wait_finely(epoll.get(), events, kEventsMax, limit);
    // Older sandboxes refuse unknown calls with EPERM, which a wait never returns otherwise.
    if (n < 0 && (errno == ENOSYS || errno == EPERM))
      coarse_.store(true, std::memory_order_relaxed);
  }
  if (coarse_.load(std::memory_order_relaxed)) {
    n = wait_coarsely(epoll.get(), events, kEventsMax, limit);
  }
  UNISONO_CHECK(n >= 0 || errno == EINTR);
  for (int i = 0; i < n; ++i) {
    ready.push_back({events[i].data.u64, (events[i].events & EPOLLIN) != 0,
                     (events[i].events & EPOLLOUT) != 0,
                     (events[i].events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0});
  }
}

}  // namespace unisono
