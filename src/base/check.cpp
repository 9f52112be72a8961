// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace unisono {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "unisono: internal check failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace unisono
