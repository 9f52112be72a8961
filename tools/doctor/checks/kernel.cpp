// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/kernel.hpp"

#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/data/text.hpp"
#include "base/os/fd.hpp"
#include "transport/mesh/frame_seal.hpp"

namespace unisono::tools {
namespace {

// A call with harmless arguments: an error other than "there is no such call" proves that it works.
// Older sandboxes refuse unknown calls with EPERM.
bool call_works(long number, long a, long b, long c, long d) {
  if (number < 0) return false;
  const long answer = ::syscall(number, a, b, c, d, 0L, 0L);
  return answer >= 0 || (errno != ENOSYS && errno != EPERM);
}

bool pidfd_works() {
#ifdef SYS_pidfd_open
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0))).valid();
#else
  return false;
#endif
}

bool epoll_pwait2_works() {
#ifdef SYS_epoll_pwait2
  const Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event events[1];
  const timespec now{0, 0};
  return call_works(SYS_epoll_pwait2, epoll.get(), reinterpret_cast<long>(events), 1,
                    reinterpret_cast<long>(&now));
#else
  return false;
#endif
}

bool close_range_works() {
#ifdef SYS_close_range
  constexpr long kNone = ~0U;  // no descriptor has this number
  return call_works(SYS_close_range, kNone, kNone, 0, 0);
#else
  return false;
#endif
}

bool futex_works() {
  std::uint32_t word = 0;
  return call_works(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE_PRIVATE, 1, 0);
}

int random_error() {
  unsigned char bytes[16];
  return ::getrandom(bytes, sizeof bytes, GRND_NONBLOCK) == sizeof bytes ? 0 : errno;
}

}  // namespace

Finding judge_kernel_calls(const std::vector<KernelCall>& calls) {
  const std::string name = "kernel calls";
  std::vector<std::string> present, missing;
  bool needed = false;
  for (const KernelCall& call : calls) {
    if (call.works) {
      present.emplace_back(call.name);
    } else {
      missing.push_back(cat("no ", call.name, ": ", call.otherwise));
      needed = needed || call.needed;
    }
  }
  if (missing.empty()) return good(name, cat(join_text(present), " work"));
  const std::string mend =
      "use Linux 5.11 or newer, or allow these calls in the sandbox (seccomp profile; docker run "
      "--security-opt seccomp=unconfined shows whether that is the reason)";
  return needed ? lacking(name, join_text(missing, "; "), mend)
                : doubtful(name, join_text(missing, "; "), mend);
}

Finding judge_descriptors(std::uint64_t soft, std::uint64_t hard) {
  const std::string name = "file descriptors";
  constexpr std::uint64_t kPlenty = 65536, kFew = 1024, kTooFew = 64, kOfTheProgram = 128;
  const auto number = [](std::uint64_t n) { return n >= RLIM_INFINITY ? "unlimited" : cat(n); };
  std::string found = cat(number(soft), " (at most ", number(hard), ")");
  if (soft < kPlenty && soft > kOfTheProgram) {
    found +=
        cat(", enough for about ", (soft - kOfTheProgram) / 2, " ranks on other hosts, two each");
  }
  if (soft >= kFew) return good(name, found);
  const std::string mend =
      hard > soft ? cat("ulimit -n ", std::min(hard, kPlenty),
                        ", or LimitNOFILE= in the unit, or docker run --ulimit nofile=65536")
                  : "raise nofile in /etc/security/limits.conf, or docker run --ulimit nofile=N";
  return soft < kTooFew ? lacking(name, found, mend) : doubtful(name, found, mend);
}

Finding judge_random(int error) {
  const std::string name = "random numbers";
  if (error == 0) return good(name, "getrandom has enough entropy");
  if (error == EAGAIN) {
    return lacking(name, "the kernel has not gathered entropy yet: making a job key would wait",
                   "wait, or give a virtual machine a virtio-rng device, or install rng-tools");
  }
  return doubtful(name, cat("getrandom: ", std::strerror(error), "; /dev/urandom is used"),
                  "allow getrandom in the sandbox (seccomp profile)");
}

Finding judge_aes(bool has_instructions, std::string_view seal) {
  const std::string name = "AES";
  if (has_instructions) {
    return good(name, cat("the processor has instructions for it; frames between hosts are sealed "
                          "with ",
                          seal));
  }
  return doubtful(name,
                  cat("no instructions for it; frames between hosts are sealed with ", seal,
                      ", which is slower"),
                  "let the virtual machine see them (QEMU: -cpu host), or set UNISONO_INTEGRITY="
                  "plain on a network where nobody else can send");
}

std::vector<Finding> check_kernel() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const transport::SealKind seal = transport::fastest_seal();
  return {judge_kernel_calls(
              {{"futex", futex_works(), true, "threads cannot wait for each other"},
               {"epoll_pwait2", epoll_pwait2_works(), false,
                "waits are rounded up to whole milliseconds"},
               {"pidfd_open", pidfd_works(), false,
                "a killed rank whose children live on is noticed by its silence"},
               {"close_range", close_range_works(), false, "descriptors are closed one by one"}}),
          judge_descriptors(files.rlim_cur, files.rlim_max), judge_random(random_error()),
          judge_aes(seal == transport::SealKind::aes_256_gcm, transport::seal_name(seal))};
}

}  // namespace unisono::tools
