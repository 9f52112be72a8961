// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Notices the end of another process of this host, whatever descriptors its children hold.
#pragma once

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/os/fd.hpp"

namespace unisono {

// A descriptor that becomes readable when the process at the other end of a connected unix socket
// has ended. Empty where the kernel has none (before 5.3), where a sandbox refuses it, when the
// process cannot be seen from here (another pid namespace), and when it is this one.
//
// The kernel recorded the process when the socket was connected. It may have ended since, and its
// pid may have been reused: the result is valid only if the peer sends something after the call.
inline Fd watch_peer_process(int unix_socket) {
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(unix_socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return Fd();
  if (who.pid <= 0 || who.pid == ::getpid()) return Fd();
#ifdef SYS_pidfd_open
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, who.pid, 0)));  // closed on exec
#else
  return Fd();
#endif
}

}  // namespace unisono
