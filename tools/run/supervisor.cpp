// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/supervisor.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>

#include "base/os/retry.hpp"
#include "base/data/text.hpp"

namespace unisono::tools {
namespace {

// How long processes that a rank started may outlive it, e.g. to clean up after it.
constexpr double kTidyUp_s = 1.0;

double now_s() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Kernels before 5.9 have no close_range(): there, /proc lists the open descriptors.
void close_range_of(unsigned from, unsigned to) {
  if (::syscall(SYS_close_range, from, to, 0) == 0) return;
  std::vector<unsigned> open;
  if (DIR* folder = ::opendir("/proc/self/fd")) {
    while (const dirent* entry = ::readdir(folder)) {
      const auto fd = static_cast<unsigned>(std::strtoul(entry->d_name, nullptr, 10));
      if (entry->d_name[0] != '.' && static_cast<int>(fd) != ::dirfd(folder)) open.push_back(fd);
    }
    ::closedir(folder);
  }
  for (const unsigned fd : open) {
    if (fd >= from && fd <= to) ::close(static_cast<int>(fd));
  }
}

void close_all_but(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned from = 3;
  for (const int fd : kept) {
    if (fd < 3) continue;
    const auto at = static_cast<unsigned>(fd);
    if (at > from) close_range_of(from, at - 1);
    from = at + 1;
  }
  close_range_of(from, ~0u);
}

std::vector<pid_t> children() {
  std::ifstream file(cat("/proc/self/task/", ::getpid(), "/children"));
  std::vector<pid_t> pids;
  for (pid_t pid; file >> pid;) pids.push_back(pid);
  return pids;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

[[noreturn]] void become_rank(Start start, pid_t supervisor, int out, int err, int failure) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(127);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int in = start.input >= 0 ? start.input : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  for (const int fd : start.inherited) ::fcntl(fd, F_SETFD, 0);
  int error = 0;
  if (!start.folder.empty() && ::chdir(start.folder.c_str()) != 0) {
    error = errno;
  } else {
    auto arguments = pointers(start.program);
    auto environment = pointers(start.environment);
    ::execvpe(arguments[0], arguments.data(), environment.data());
    error = errno;
  }
  [[maybe_unused]] auto n = ::write(failure, &error, sizeof error);
  ::_exit(127);
}

class Supervisor {
 public:
  Supervisor(int control, int signals) : control_(control), signals_(signals) {}

  [[noreturn]] void run(pid_t rank) {
    rank_ = rank;
    for (;;) {
      pollfd fds[] = {{control_, POLLIN, 0}, {signals_, POLLIN, 0}};
      const double left = ended_ ? std::max(tidy_until_ - now_s(), 0.0) : 3600.0;
      ::poll(fds, 2, static_cast<int>(left * 1000) + 1);
      if (fds[1].revents != 0) {
        signalfd_siginfo info;
        while (::read(signals_, &info, sizeof info) == sizeof info) {
        }
      }
      reap();
      if (fds[0].revents != 0) obey();
      if (ended_ && now_s() >= tidy_until_) end_everything();
    }
  }

 private:
  void reap() {
    int status = 0;
    for (;;) {
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
      if (pid == rank_ && !ended_) {
        ended_ = true;
        tidy_until_ = now_s() + kTidyUp_s;
        tell(Report::Kind::exited, status);
      }
      if (pid < 0 && errno == ECHILD && ended_) ::_exit(0);
      if (pid <= 0) return;
    }
  }
  void obey() {
    unsigned char number = 0;
    const ssize_t n = ::recv(control_, &number, 1, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0 || number == SIGKILL) end_everything();
    // The rank is not reaped yet, so its pid cannot have been reused.
    if (!ended_) ::kill(-rank_, number);
  }
  void end_everything() {
    const double until = now_s() + 3;
    while (now_s() < until) {
      // First the process group: the rank and normally what it started. Then whatever the kernel
      // has reparented to this process.
      if (!ended_) ::kill(-rank_, SIGKILL);
      for (const pid_t child : children()) ::kill(child, SIGKILL);
      reap();
      timespec pause{0, 2'000'000};
      ::nanosleep(&pause, nullptr);
    }
    ::_exit(1);
  }
  void tell(Report::Kind kind, int value) {
    const Report report{kind, value};
    ::send(control_, &report, sizeof report, MSG_NOSIGNAL);
  }

  int control_, signals_;
  pid_t rank_ = -1;
  bool ended_ = false;
  double tidy_until_ = 0;
};

[[noreturn]] void supervise(const Start& start, int control, int out, int err) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_NAME, "unisono-watch");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  ::sigprocmask(SIG_SETMASK, &watched, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(number, SIG_IGN);
  const int signals = ::signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
  int failure[2];
  if (signals < 0 || ::pipe2(failure, O_CLOEXEC) != 0) ::_exit(1);

  const pid_t self = ::getpid();
  const pid_t rank = ::fork();
  if (rank == 0) become_rank(start, self, out, err, failure[1]);
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(nowhere, fd);
  close_all_but({control, signals, failure[0]});
  int error = 0;
  Report report{Report::Kind::started, rank};
  if (rank < 0) report = {Report::Kind::not_started, EAGAIN};
  const auto told = [&] { return ::read(failure[0], &error, sizeof error); };
  if (rank > 0 && retried(told) == sizeof error) {
    report = {Report::Kind::not_started, error};
  }
  ::close(failure[0]);
  ::send(control, &report, sizeof report, MSG_NOSIGNAL);
  if (rank < 0) ::_exit(1);
  Supervisor(control, signals).run(rank);
}

}  // namespace

Result<Supervised> start_supervised(const Start& start) {
  Supervised started;
  Fd far_control, far_out, far_err;
  const auto hold = [](const int (&ends)[2], Fd& near, Fd& far) {
    near = Fd(ends[0]);
    far = Fd(ends[1]);
    return true;
  };
  int ends[2];
  const bool made =
      ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0 &&
      hold(ends, started.control, far_control) && ::pipe2(ends, O_CLOEXEC) == 0 &&
      hold(ends, started.out, far_out) && ::pipe2(ends, O_CLOEXEC) == 0 &&
      hold(ends, started.err, far_err);
  if (!made) return Status(Code::unavailable, cat("cannot start a rank: ", std::strerror(errno)));
  started.supervisor = ::fork();
  if (started.supervisor < 0) {
    return Status(Code::unavailable, cat("cannot start a rank: ", std::strerror(errno)));
  }
  if (started.supervisor == 0) {
    started.control.reset();
    supervise(start, far_control.get(), far_out.get(), far_err.get());
  }
  for (const Fd* fd : {&started.out, &started.err, &started.control}) {
    ::fcntl(fd->get(), F_SETFL, ::fcntl(fd->get(), F_GETFL) | O_NONBLOCK);
  }
  return started;
}

}  // namespace unisono::tools
