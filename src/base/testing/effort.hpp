// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How much a test has time for. make test-long, which sets UNISONO_SEED_FACTOR, has time for all;
// otherwise instrumented code, which is slower by more than ten times, is short of it.
#pragma once

#include <cstdlib>

namespace unisono {

inline bool has_time() {
  static const bool has = std::getenv("UNISONO_SEED_FACTOR") != nullptr;
  return has;
}

inline bool short_of_time() {
#ifdef UNISONO_SANITIZED
  return !has_time();
#else
  return false;
#endif
}

}  // namespace unisono
