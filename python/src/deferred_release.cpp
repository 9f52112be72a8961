// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <utility>
#include <vector>

#include "bindings.hpp"

namespace unisono::python {
namespace {

struct Dropped {
  std::mutex mutex;
  std::vector<std::pair<void*, Destroy>> objects;
};

// Never destroyed: engine threads may drop references while the process is ending.
Dropped& dropped() {
  static auto* instance = new Dropped;
  return *instance;
}

int release_pending(void*) {
  release_dropped();
  return 0;
}

void drop(void* held, Destroy destroy) {
  bool first = false;
  {
    const std::lock_guard lock(dropped().mutex);
    first = dropped().objects.empty();
    dropped().objects.emplace_back(held, destroy);
  }
  // Needs no GIL. When the queue is full the next binding call releases instead.
  if (first && Py_IsInitialized()) Py_AddPendingCall(release_pending, nullptr);
}

}  // namespace

std::shared_ptr<void> keep_until_dropped(void* held, Destroy destroy) {
  return {held, [destroy](void* dropped_last) { drop(dropped_last, destroy); }};
}

void release_dropped() {
  std::vector<std::pair<void*, Destroy>> objects;
  {
    const std::lock_guard lock(dropped().mutex);
    objects.swap(dropped().objects);
  }
  for (const auto& [held, destroy] : objects) destroy(held);
}

}  // namespace unisono::python
