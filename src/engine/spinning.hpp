// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Counts how long a thread spins: it was told to keep its core until other ranks have come, and
// found nothing to do. Time in which it had something to do does not count, nor does sleep.
// Thread: the owner's. The time comes in as a value.
#pragma once

#include "base/clock.hpp"

namespace unisono::engine {

class Spinning {
 public:
  // Told after each look for work: whether there was any, and whether the thread is to spin until
  // it looks again. Returns what was spun since the last look.
  Nanos looked(bool found_work, bool spins, Time now) {
    const Nanos spun = spins_ && !found_work ? now - since_ : Nanos(0);
    spins_ = spins;
    since_ = now;
    return spun;
  }

 private:
  bool spins_ = false;
  Time since_{};
};

}  // namespace unisono::engine
