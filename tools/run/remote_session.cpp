// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/clock.hpp"
#include "base/os/fd.hpp"
#include "base/os/retry.hpp"
#include "base/data/text.hpp"
#include "exit_codes.hpp"
#include "processes/remote_shell.hpp"
#include "run/frames.hpp"
#include "run/session.hpp"

namespace unisono::tools {
namespace {

class RemoteSession final : public HostSession {
 public:
  RemoteSession(const RunSettings& settings, const HostPlan& plan, const rendezvous::JobKey& key)
      : settings_(settings), plan_(plan), key_(key) {}
  // A shell that ends neither by itself nor when told is left alone: the launcher does not wait on.
  ~RemoteSession() override {
    hang_up();
    if (pid_ <= 0) return;
    for (const int number : {0, SIGKILL}) {
      if (pid_ > 0 && number != 0) ::kill(-pid_, number);
      const Time until = (number == 0 ? hung_up_ : clock_.now()) + kObey;
      while (pid_ > 0 && !ended() && clock_.now() < until) {
        const timespec pause{0, 2'000'000};
        ::nanosleep(&pause, nullptr);
      }
    }
  }

  const std::string& host() const override { return plan_.host; }

  void open() override {
    Fd far_to, far_from, far_err;
    if (!make_pipe(far_to, to_) || !make_pipe(from_, far_from) || !make_pipe(err_, far_err)) {
      const int error = errno;
      close_lines();
      return fail(cat("cannot make pipes: ", std::strerror(error)), kMachineLacks);
    }
    const pid_t launcher = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) become_shell(launcher, far_to.get(), far_from.get(), far_err.get());
    if (pid_ < 0) {
      const int error = errno;
      close_lines();
      return fail(cat("cannot start ssh: ", std::strerror(error)), kMachineLacks);
    }
    ::setpgid(pid_, pid_);  // the shell does so, too; either may be first
    for (const Fd* fd : {&to_, &from_, &err_}) {
      ::fcntl(fd->get(), F_SETFL, ::fcntl(fd->get(), F_GETFL) | O_NONBLOCK);
    }
    // A write that fails shows itself as the end of what can be read.
    send({Frame::Kind::spec, -1, encode_spec(settings_.job, plan_)});
    send({Frame::Kind::key, -1,
          std::string(reinterpret_cast<const char*>(key_.data()), key_.size())});
  }

  void start(const std::string& address) override { send({Frame::Kind::go, -1, address}); }
  void signal(int number) override {
    send({Frame::Kind::signal, -1, std::string(1, static_cast<char>(number))});
  }

  void watch(std::vector<pollfd>& fds) const override {
    if (from_.valid()) fds.push_back({from_.get(), POLLIN, 0});
    if (err_.valid()) fds.push_back({err_.get(), POLLIN, 0});
    if (to_.valid() && !unsent_.empty()) fds.push_back({to_.get(), POLLOUT, 0});
  }
  Time deadline() const override {
    if (!pending_.empty()) return Time();   // there is something to tell already
    return pid_ > 0 ? hurry_at_ : kNever;
  }

  void pump(std::vector<Event>& events) override {
    flush();
    read_notes(events);
    if (from_.valid()) {
      const bool alive = frames_.fill(from_.get());
      if (frames_.greeted()) {
        while (auto frame = frames_.next()) take(*frame, events);
      }
      if (!alive) {
        close_lines();
        hurry_at_ = clock_.now() + kEndItself;
      }
    }
    if (!from_.valid() && pid_ > 0) await_end(events);
    events.insert(events.end(), pending_.begin(), pending_.end());
    pending_.clear();
  }

  void hang_up() override {
    to_.reset();
    if (pid_ <= 0 || hung_up_ != kNever) return;
    hung_up_ = clock_.now();
    ::kill(-pid_, SIGTERM);
  }

  bool over() const override { return !from_.valid() && pid_ <= 0 && pending_.empty(); }

 private:
  // How long a shell may take to end after it has closed its output, and after it was told to end.
  static constexpr Nanos kEndItself = std::chrono::seconds(2), kObey = std::chrono::seconds(1);

  static bool make_pipe(Fd& read, Fd& write) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read = Fd(ends[0]);
    write = Fd(ends[1]);
    return true;
  }

  [[noreturn]] void become_shell(pid_t launcher, int in, int out, int err) const {
    ::setpgid(0, 0);  // Ctrl-C is for the launcher, which passes it on in its own way
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != launcher) ::_exit(127);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    ::dup2(in, 0);
    ::dup2(out, 1);
    ::dup2(err, 2);
    auto command = remote_command(settings_.shell, plan_.host, {"__agent"});
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    const std::string text = cat("cannot run ", command[0], ": ", std::strerror(errno), "\n");
    [[maybe_unused]] auto n = ::write(2, text.data(), text.size());
    ::_exit(126);
  }

  // When the shell does not read, the frame waits here, so that the launcher is not blocked.
  void send(const Frame& frame) {
    if (!to_.valid()) return;
    unsent_ += frame_bytes(frame);
    flush();
  }
  void flush() {
    while (to_.valid() && !unsent_.empty()) {
      const ssize_t n = ::write(to_.get(), unsent_.data(), unsent_.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (n <= 0) return to_.reset();
      unsent_.erase(0, static_cast<std::size_t>(n));
    }
  }

  void fail(std::string why, int code) {
    pending_.push_back({Event::Kind::host_failed, -1, code, std::move(why)});
  }

  void read_notes(std::vector<Event>& events) {
    char buffer[4096];
    while (err_.valid()) {
      const ssize_t n = ::read(err_.get(), buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return;
      if (n == 0) {
        err_.reset();
        return;
      }
      const std::string text(buffer, static_cast<std::size_t>(n));
      notes_ = (notes_ + text).substr(0, 8192);
      events.push_back({Event::Kind::note, -1, 0, text});
    }
  }

  void take(const Frame& frame, std::vector<Event>& events) {
    const auto number = [&] { return std::strtoll(frame.body.c_str(), nullptr, 10); };
    switch (frame.kind) {
      case Frame::Kind::ready:
        events.push_back({Event::Kind::ready, -1, 0, frame.body});
        break;
      case Frame::Kind::started:
        events.push_back({Event::Kind::started, frame.rank, number(), ""});
        break;
      case Frame::Kind::not_started:
        events.push_back({Event::Kind::not_started, frame.rank, 0, frame.body});
        break;
      case Frame::Kind::out:
        events.push_back({Event::Kind::out, frame.rank, 0, frame.body});
        break;
      case Frame::Kind::err:
        events.push_back({Event::Kind::err, frame.rank, 0, frame.body});
        break;
      case Frame::Kind::exited:
        ++exited_;
        events.push_back({Event::Kind::exited, frame.rank, number(), ""});
        break;
      case Frame::Kind::part:
        events.push_back({Event::Kind::part, frame.rank, 0, frame.body});
        break;
      case Frame::Kind::host_failed:
        told_ = true;
        fail(frame.body, kJobFailed);
        break;
      default:
        break;
    }
  }

  void close_lines() {
    from_.reset();
    to_.reset();
  }

  // Returns true once the shell's process has ended.
  bool ended() {
    const pid_t pid = retried([&] { return ::waitpid(pid_, &wait_status_, WNOHANG); });
    if (pid == 0) return false;
    if (pid < 0) wait_status_ = -1;         // its status was collected elsewhere
    pid_ = -1;
    return true;
  }

  // Nothing more comes from the host: its shell must end as well, and is killed if it does not.
  void await_end(std::vector<Event>& events) {
    if (!ended()) {
      if (clock_.now() < hurry_at_) return;
      ::kill(-pid_, std::exchange(hurried_, true) ? SIGKILL : SIGTERM);
      hurry_at_ = clock_.now() + kObey;
      return;
    }
    read_notes(events);
    err_.reset();                           // children of the shell may hold the other end
    if (told_ || exited_ == plan_.ranks.size()) return;
    explain(WIFEXITED(wait_status_) ? WEXITSTATUS(wait_status_) : -1);
  }

  // Reports why the connection ended before its ranks did, and how to fix it.
  void explain(int code) {
    const std::string& host = plan_.host;
    const std::string port = settings_.shell.ssh_port == 0 ? "" : cat(" -p ", settings_.shell.ssh_port);
    const std::string known =
        settings_.shell.ssh_known_hosts.empty() ? "~/.ssh/known_hosts" : settings_.shell.ssh_known_hosts;
    if (notes_.find("Host key verification failed") != std::string::npos) {
      return fail(cat("ssh does not know the host key of ", host,
                      ", so nothing was started there. Mend: compare the fingerprint that\n"
                      "    ssh-keyscan",
                      port, " ", host,
                      " 2>/dev/null | ssh-keygen -lf -\n"
                      "  prints with the one shown on ",
                      host,
                      ", then add it:\n"
                      "    ssh-keyscan",
                      port, " ", host, " >> ", known),
                  kJobFailed);
    }
    if (notes_.find("Permission denied") != std::string::npos) {
      return fail(cat("ssh may not log in to ", host, " without a password. Mend: ssh-copy-id",
                      port, " ", host, ", or give --ssh-identity"),
                  kJobFailed);
    }
    if (code == 126 && notes_.find("cannot run") != std::string::npos) {
      return fail(cat("cannot run the remote shell: ", notes_.substr(0, notes_.find('\n')),
                      "; install openssh-client or give --rsh"),
                  kMachineLacks);
    }
    if (code == 127 || code == 126) {
      return fail(cat(settings_.shell.remote_unisono, " cannot be run on ", host,
                      "; install unisono there or give its path with --remote-unisono"),
                  kMachineLacks);
    }
    if (!frames_.greeted() && frames_.garbage().find("UNISONO-AGENT") != std::string::npos) {
      return fail(cat("unisono on ", host,
                      " has another version than this one (" UNISONO_VERSION_TEXT
                      "); install the same one"),
                  kJobFailed);
    }
    if (hurried_) {
      return fail(cat("the remote shell for ", host,
                      " closed its output without a word from the host, but did not end, and was "
                      "ended; run it by hand to see what it waits for"),
                  kJobFailed);
    }
    const std::string last = notes_.empty() ? "" : cat(": ", notes_.substr(0, notes_.find('\n')));
    fail(cat("the connection to ", host, " ended (exit code ", code, ")", last), kJobFailed);
  }

  RunSettings settings_;
  HostPlan plan_;
  rendezvous::JobKey key_;
  SteadyClock clock_;
  pid_t pid_ = -1;
  int wait_status_ = 0;
  Time hurry_at_ = kNever;                  // when the shell is next told to end
  Time hung_up_ = kNever;
  bool hurried_ = false;
  Fd to_, from_, err_;
  std::string unsent_;
  FrameReader frames_;
  std::string notes_;
  std::vector<Event> pending_;
  std::size_t exited_ = 0;
  bool told_ = false;
};

}  // namespace

std::unique_ptr<HostSession> make_remote_session(const RunSettings& settings, const HostPlan& plan,
                                                 const rendezvous::JobKey& key) {
  return std::make_unique<RemoteSession>(settings, plan, key);
}

}  // namespace unisono::tools
