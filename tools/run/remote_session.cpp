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
#include <sstream>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "exit_codes.hpp"
#include "run/frames.hpp"
#include "run/session.hpp"

namespace unisono::tools {
namespace {

// The remote shell reads the command, so what goes through it is quoted.
std::string shell_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::vector<std::string> command_for(const RunSettings& settings, const std::string& host) {
  std::vector<std::string> command;
  if (!settings.rsh.empty()) {
    std::istringstream words(settings.rsh);
    for (std::string word; words >> word;) command.push_back(word);
    command.insert(command.end(), {host, settings.remote_unisono, "__agent"});
    return command;
  }
  command = {"ssh", "-T", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"};
  if (settings.ssh_port != 0) command.insert(command.end(), {"-p", cat(settings.ssh_port)});
  if (!settings.ssh_identity.empty()) {
    command.insert(command.end(), {"-i", settings.ssh_identity, "-o", "IdentitiesOnly=yes"});
  }
  if (!settings.ssh_known_hosts.empty()) {
    command.insert(command.end(), {"-o", cat("UserKnownHostsFile=", settings.ssh_known_hosts)});
  }
  command.insert(command.end(), {host, cat(shell_word(settings.remote_unisono), " __agent")});
  return command;
}

class RemoteSession final : public HostSession {
 public:
  RemoteSession(const RunSettings& settings, const HostPlan& plan, const JobKey& key)
      : settings_(settings), plan_(plan), key_(key) {}
  ~RemoteSession() override {
    to_.reset();
    if (pid_ > 0) {
      ::kill(pid_, SIGTERM);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  const std::string& host() const override { return plan_.host; }

  void open() override {
    int to[2], from[2], err[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0 ||
        ::pipe2(err, O_CLOEXEC) != 0) {
      return fail(cat("cannot make pipes: ", std::strerror(errno)), kMachineLacks);
    }
    const Fd far_to(to[0]), far_from(from[1]), far_err(err[1]);
    to_ = Fd(to[1]);
    from_ = Fd(from[0]);
    err_ = Fd(err[0]);
    const pid_t launcher = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) become_shell(launcher, far_to.get(), far_from.get(), far_err.get());
    if (pid_ < 0) return fail(cat("cannot start ssh: ", std::strerror(errno)), kMachineLacks);
    for (const Fd* fd : {&from_, &err_}) {
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
  }

  void pump(std::vector<Event>& events) override {
    read_notes(events);
    if (from_.valid()) {
      const bool alive = frames_.fill(from_.get());
      if (frames_.greeted()) {
        while (auto frame = frames_.next()) take(*frame, events);
      }
      if (!alive) end(events);
    }
    events.insert(events.end(), pending_.begin(), pending_.end());
    pending_.clear();
  }

  bool over() const override { return !from_.valid() && pending_.empty(); }

 private:
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
    auto command = command_for(settings_, plan_.host);
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    const std::string text = cat("cannot run ", command[0], ": ", std::strerror(errno), "\n");
    [[maybe_unused]] auto n = ::write(2, text.data(), text.size());
    ::_exit(126);
  }

  void send(const Frame& frame) {
    if (to_.valid() && !write_frame(to_.get(), frame)) to_.reset();
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
      case Frame::Kind::host_failed:
        told_ = true;
        fail(frame.body, kJobFailed);
        break;
      default:
        break;
    }
  }

  void end(std::vector<Event>& events) {
    from_.reset();
    to_.reset();
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    read_notes(events);
    if (told_ || exited_ == plan_.ranks.size()) return;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    explain(code);
  }

  // Why the connection ended before its ranks did, and what mends it.
  void explain(int code) {
    const std::string& host = plan_.host;
    const std::string port = settings_.ssh_port == 0 ? "" : cat(" -p ", settings_.ssh_port);
    const std::string known =
        settings_.ssh_known_hosts.empty() ? "~/.ssh/known_hosts" : settings_.ssh_known_hosts;
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
      return fail(cat(settings_.remote_unisono, " cannot be run on ", host,
                      "; install unisono there or give its path with --remote-unisono"),
                  kMachineLacks);
    }
    if (!frames_.greeted() && frames_.garbage().find("UNISONO-AGENT") != std::string::npos) {
      return fail(cat("unisono on ", host,
                      " has another version than this one (" UNISONO_VERSION_TEXT
                      "); install the same one"),
                  kJobFailed);
    }
    const std::string last = notes_.empty() ? "" : cat(": ", notes_.substr(0, notes_.find('\n')));
    fail(cat("the connection to ", host, " ended (exit code ", code, ")", last), kJobFailed);
  }

  RunSettings settings_;
  HostPlan plan_;
  JobKey key_;
  pid_t pid_ = -1;
  Fd to_, from_, err_;
  FrameReader frames_;
  std::string notes_;
  std::vector<Event> pending_;
  std::size_t exited_ = 0;
  bool told_ = false;
};

}  // namespace

std::unique_ptr<HostSession> make_remote_session(const RunSettings& settings, const HostPlan& plan,
                                                 const JobKey& key) {
  return std::make_unique<RemoteSession>(settings, plan, key);
}

}  // namespace unisono::tools
