// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A signal can end a system call before it has done anything; that is no answer, so ask again.
#pragma once

#include <cerrno>

namespace unisono {

// The call's answer, once it is not EINTR. Only for calls that do not wait: a caller with a deadline
// looks at the clock first.
template <typename Call>
auto retried(const Call& call) {
  auto answer = call();
  while (answer < 0 && errno == EINTR) answer = call();
  return answer;
}

}  // namespace unisono
