// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How much a test has time for: instrumented code is slower by more than ten times, and make
// test-long, which sets UNISONO_SEED_FACTOR, has the time nevertheless.
#pragma once

#include <cstdlib>

namespace unisono {

inline bool short_of_time() {
#ifdef UNISONO_SANITIZED
  static const bool is_short = std::getenv("UNISONO_SEED_FACTOR") == nullptr;
  return is_short;
#else
  return false;
#endif
}

}  // namespace unisono
