// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/fd_passing.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/check.hpp"
#include "base/data/text.hpp"

namespace unisono::transport {
namespace {
constexpr std::size_t kDescriptorsMax = 8;

Status wait_for(int socket, short events, PassingDeadline deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd watched{socket, events, 0};
    const auto limit = std::clamp<std::int64_t>(left.count(), 0, 1 << 30);
    const int n = ::poll(&watched, 1, static_cast<int>(limit));
    if (n > 0) return {};
    if (n < 0 && errno == EINTR) continue;
    return Status(Code::timed_out, "the peer did not pass its memory in time");
  }
}

Status broken(int error) {
  return Status(Code::peer_lost, cat("the socket to the peer broke while memory was passed: ",
                                     std::generic_category().message(error)));
}

bool again(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

void collect(const msghdr& message, std::vector<Fd>& into) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      into.emplace_back(fd);
    }
  }
}
}  // namespace

Status pass(int socket, std::span<const std::byte> message, std::span<const int> descriptors,
            PassingDeadline deadline) {
  UNISONO_CHECK(descriptors.size() <= kDescriptorsMax);
  alignas(cmsghdr) char space[CMSG_SPACE(kDescriptorsMax * sizeof(int))] = {};
  bool passed = descriptors.empty();
  while (!message.empty()) {
    iovec part{const_cast<std::byte*>(message.data()), message.size()};
    msghdr envelope{};
    envelope.msg_iov = &part;
    envelope.msg_iovlen = 1;
    if (!passed) {
      envelope.msg_control = space;
      envelope.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
      cmsghdr* rights = CMSG_FIRSTHDR(&envelope);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
      std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
    }
    const ssize_t n = ::sendmsg(socket, &envelope, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      passed = true;
      message = message.subspan(static_cast<std::size_t>(n));
    } else if (n < 0 && again(errno)) {
      if (Status status = wait_for(socket, POLLOUT, deadline); !status.ok()) return status;
    } else {
      return broken(errno);
    }
  }
  return {};
}

Result<std::vector<Fd>> take_passed(int socket, std::span<std::byte> message, std::size_t most,
                                    PassingDeadline deadline) {
  std::vector<Fd> descriptors;
  while (!message.empty()) {
    if (Status status = wait_for(socket, POLLIN, deadline); !status.ok()) return status;
    alignas(cmsghdr) char space[CMSG_SPACE(kDescriptorsMax * sizeof(int))];
    iovec part{message.data(), message.size()};
    msghdr envelope{};
    envelope.msg_iov = &part;
    envelope.msg_iovlen = 1;
    envelope.msg_control = space;
    envelope.msg_controllen = sizeof space;
    const ssize_t n = ::recvmsg(socket, &envelope, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && again(errno)) continue;
    if (n < 0) return broken(errno);
    collect(envelope, descriptors);
    if (n == 0) return Status(Code::peer_lost, "the peer left while memory was passed");
    if ((envelope.msg_flags & MSG_CTRUNC) != 0 || descriptors.size() > most) {
      return Status(Code::corrupted, "the peer passed more descriptors than it may");
    }
    message = message.subspan(static_cast<std::size_t>(n));
  }
  return descriptors;
}

}  // namespace unisono::transport
