// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/child_closes.hpp"

#include <pthread.h>

#include <mutex>

#include "base/check.hpp"

namespace unisono {

// Linked through its members, so that the child, in which other threads may have died while they
// held locks of the allocator, needs neither memory nor any lock but the one held across fork().
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

}  // namespace unisono
