// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A signal can interrupt a system call before it has done anything; the call is then made again.
#pragma once

#include <cerrno>

namespace unisono {

// Returns the result of the call once it is not EINTR. Only for calls that do not wait: a caller
// with a deadline must check the clock first.
template <typename Call>
auto retried(const Call& call) {
  auto answer = call();
  while (answer < 0 && errno == EINTR) answer = call();
  return answer;
}

}  // namespace unisono
