// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/os/child_closes.hpp"

#include <pthread.h>

#include <atomic>
#include <mutex>

#include "base/check.hpp"

namespace unisono {
namespace {

std::atomic<std::uint64_t> forks_behind{0};  // how many fork()s lead to this process

}  // namespace

// An intrusive list. In the child, other threads may have disappeared while they held locks of the
// allocator, so the list needs neither memory nor any lock but the one held across fork().
struct ChildCloseList {
  std::mutex mutex;
  ChildCloses* first = nullptr;

  static ChildCloseList& instance() {
    // Never destroyed: threads may fork while the process ends.
    static auto& list = *new ChildCloseList;
    return list;
  }
  ChildCloseList() {
    UNISONO_CHECK(::pthread_atfork([] { instance().mutex.lock(); },
                                   [] { instance().mutex.unlock(); },
                                   [] { instance().after_fork_in_child(); }) == 0);
  }
  void add(ChildCloses& one) {
    const std::lock_guard lock(mutex);
    one.next_ = first;
    one.link_ = &first;
    if (first != nullptr) first->link_ = &one.next_;
    first = &one;
  }
  void remove(ChildCloses& one) {
    const std::lock_guard lock(mutex);
    if (one.link_ == nullptr) return;
    *one.link_ = one.next_;
    if (one.next_ != nullptr) one.next_->link_ = one.link_;
  }
  void after_fork_in_child() {
    forks_behind.fetch_add(1, std::memory_order_relaxed);
    while (first != nullptr) {
      ChildCloses& one = *first;
      one.fd_.reset();
      first = one.next_;
      one.next_ = nullptr;
      one.link_ = nullptr;
    }
    mutex.unlock();
  }
};

ChildCloses::ChildCloses(Fd& fd) : fd_(fd) { ChildCloseList::instance().add(*this); }
ChildCloses::~ChildCloses() { ChildCloseList::instance().remove(*this); }

ForkWatch::ForkWatch() {
  ChildCloseList::instance();               // counts from here on
  forks_ = forks_behind.load(std::memory_order_relaxed);
}
bool ForkWatch::in_child() const { return forks_behind.load(std::memory_order_relaxed) != forks_; }

}  // namespace unisono
