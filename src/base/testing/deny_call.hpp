// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Test support: a child process in which the kernel answers one system call with an error of the
// test's choice, as an older kernel or an interrupted call would.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace unisono {

struct DeniedCall {
  long number;
  int error;
  // Denied only when the low half of this argument (0 to 5) is larger than `above`; -1: always.
  int argument = -1;
  std::uint32_t above = 0;
};

// Returns false when this machine cannot filter system calls.
inline bool deny(const DeniedCall& call) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  const auto number = static_cast<std::uint32_t>(call.number);
  const auto answer = SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(call.error);
  const auto at =
      static_cast<std::uint32_t>(offsetof(seccomp_data, args) +
                                 sizeof(std::uint64_t) * static_cast<std::size_t>(call.argument));
  sock_filter always[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, answer),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_filter above[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at),
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, call.above, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, answer),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program = call.argument < 0
                           ? sock_fprog{sizeof always / sizeof *always, always}
                           : sock_fprog{sizeof above / sizeof *above, above};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum class Denied { held, broke, untestable };

// Runs `check` in a child to which the call is denied; returns held when `check` returns true.
inline Denied run_denied(const DeniedCall& call, const std::function<bool()>& check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(!deny(call) ? 2 : check() ? 0 : 1);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status))
    return Denied::broke;
  return WEXITSTATUS(status) == 0   ? Denied::held
         : WEXITSTATUS(status) == 2 ? Denied::untestable
                                    : Denied::broke;
}

}  // namespace unisono
