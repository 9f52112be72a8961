// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "processes/child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/data/text.hpp"
#include "base/os/retry.hpp"
#include "processes/interrupt.hpp"

namespace unisono::tools {
namespace {

constexpr std::size_t kOutputMax = 4 << 20;  // more than any command here has to say
constexpr Nanos kObeyTerm = std::chrono::milliseconds(300), kObeyKill = std::chrono::seconds(1);
constexpr Nanos kTickEvery = std::chrono::milliseconds(100);
constexpr Nanos kLookAgain = std::chrono::milliseconds(5);  // for a process that closed its output

bool open_pipe(Fd& read, Fd& write) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  read = Fd(ends[0]);
  write = Fd(ends[1]);
  return true;
}

void never_block(const Fd& fd) {
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

// Everything that has come is kept up to a limit; beyond it, what comes is discarded, or what came
// first.
void read_into(Fd& from, std::string& text, bool keep_end) {
  char buffer[1 << 14];
  while (from.valid()) {
    const ssize_t n = ::read(from.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) return from.reset();
    if (keep_end && text.size() >= 2 * kOutputMax) text.erase(0, text.size() - kOutputMax);
    if (keep_end) {
      text.append(buffer, static_cast<std::size_t>(n));
      continue;
    }
    const std::size_t room = kOutputMax - std::min(kOutputMax, text.size());
    text.append(buffer, std::min(room, static_cast<std::size_t>(n)));
  }
}

void write_everything(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = retried([&] { return ::write(fd, text.data(), text.size()); });
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

int become(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  const int error = errno;
  write_everything(2, cat("cannot run ", command[0], ": ", std::strerror(error), "\n"));
  return error == ENOENT ? 127 : 126;
}

}  // namespace

Result<Child> Child::start(const std::function<int()>& body) {
  Child child;
  Fd far_in, far_out, far_err;
  if (!open_pipe(far_in, child.to_) || !open_pipe(child.from_, far_out) ||
      !open_pipe(child.from_err_, far_err)) {
    return Status(Code::unavailable, cat("cannot make a pipe: ", std::strerror(errno)));
  }
  const pid_t parent = ::getpid();
  child.pid_ = ::fork();
  if (child.pid_ == 0) {
    ::setpgid(0, 0);  // Ctrl-C is for the parent, which ends this process in its own way
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    for (const int number : {SIGINT, SIGTERM, SIGPIPE}) ::signal(number, SIG_DFL);
    ::dup2(far_in.get(), 0);
    ::dup2(far_out.get(), 1);
    ::dup2(far_err.get(), 2);
    ::_exit(body());
  }
  if (child.pid_ < 0) {
    return Status(Code::unavailable, cat("cannot start a process: ", std::strerror(errno)));
  }
  ::setpgid(child.pid_, child.pid_);  // the child does so, too; either may be first
  for (const Fd* fd : {&child.to_, &child.from_, &child.from_err_}) never_block(*fd);
  return child;
}

Result<Child> Child::run(const std::vector<std::string>& command) {
  return start([&] { return become(command); });
}

Result<Child> Child::call(const std::function<std::string()>& body) {
  return start([&] {
    write_everything(1, body());
    return 0;
  });
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      exit_code_(other.exit_code_),
      to_(std::move(other.to_)),
      from_(std::move(other.from_)),
      from_err_(std::move(other.from_err_)),
      unsent_(std::move(other.unsent_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)) {}

void Child::send(std::string_view text) {
  unsent_ += text;
  pump();
}

void Child::pump() {
  while (to_.valid() && !unsent_.empty()) {
    const ssize_t n = retried([&] { return ::write(to_.get(), unsent_.data(), unsent_.size()); });
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n <= 0) to_.reset();
    if (n > 0) unsent_.erase(0, static_cast<std::size_t>(n));
  }
  look_for_end();
  // After the look: what a process wrote before it ended is here by then.
  read_into(from_, out_, keeps_end_);
  read_into(from_err_, err_, keeps_end_);
}

void Child::look_for_end() {
  if (pid_ <= 0) return;
  siginfo_t about{};
  const int answer = retried([&] {
    return ::waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED | WNOHANG | WNOWAIT);
  });
  if (answer == 0 && about.si_pid == 0) return;
  // Until it is waited for, its number and that of its group cannot be given to anybody else.
  ::kill(-pid_, SIGKILL);
  int status = 0;
  const pid_t pid = std::exchange(pid_, -1);
  if (retried([&] { return ::waitpid(pid, &status, 0); }) == pid && WIFEXITED(status)) {
    exit_code_ = WEXITSTATUS(status);
  }
}

std::optional<std::string> Child::take_line() {
  const std::size_t end = out_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = out_.substr(0, end);
  out_.erase(0, end + 1);
  return line;
}

void Child::watch(std::vector<pollfd>& fds) const {
  if (from_.valid()) fds.push_back({from_.get(), POLLIN, 0});
  if (from_err_.valid()) fds.push_back({from_err_.get(), POLLIN, 0});
  if (to_.valid() && !unsent_.empty()) fds.push_back({to_.get(), POLLOUT, 0});
}

void Child::end() {
  to_.reset();
  const SteadyClock clock;
  for (const int number : {SIGTERM, SIGKILL}) {
    if (pid_ > 0) ::kill(-pid_, number);
    const Time until = clock.now() + (number == SIGTERM ? kObeyTerm : kObeyKill);
    for (look_for_end(); pid_ > 0 && clock.now() < until; look_for_end()) {
      const timespec pause{0, 2'000'000};
      ::nanosleep(&pause, nullptr);
    }
  }
}

bool pump_until(std::span<Child* const> children, Time until, const std::function<bool()>& done,
                const Tick& tick) {
  const SteadyClock clock;
  for (;;) {
    bool any_silent = false;
    std::vector<pollfd> fds;
    for (Child* child : children) {
      child->pump();
      const std::size_t before = fds.size();
      child->watch(fds);
      any_silent = any_silent || (fds.size() == before && !child->ended());
    }
    if (done()) return true;
    const Time now = clock.now();
    if (now >= until || interrupted() != 0) return false;
    if (tick) tick();
    const Nanos pause = std::min(until - now, any_silent ? kLookAgain : kTickEvery);
    ::poll(fds.data(), fds.size(), static_cast<int>(pause.count() / 1'000'000) + 1);
  }
}

}  // namespace unisono::tools
