// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/os/fd.hpp"
#include "base/os/retry.hpp"
#include "base/data/text.hpp"
#include "processes/remote_shell.hpp"
#include "rendezvous/connect/addresses.hpp"
#include "run/session.hpp"
#include "run/supervisor.hpp"

extern char** environ;

namespace unisono::tools {
namespace {

// Set for each rank anew; what an outer job set must not leak into this one.
constexpr std::string_view kOwnVariables[] = {
    "UNISONO_RANK",    "UNISONO_SIZE",      "UNISONO_LOCAL_RANK", "UNISONO_LOCAL_SIZE",
    "UNISONO_ADDRESS", "UNISONO_KEY_FD",    "UNISONO_KEY_FILE",   "UNISONO_LISTEN_FD",
    "UNISONO_HOST",    "UNISONO_BIND_HOST", "UNISONO_JOB"};

// Returns a loopback port that nobody uses at the moment.
int free_port() {
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 29500;                           // torch's default
  }
  return ntohs(address.sin_port);
}

// Where the others may reach this host: first the address under which they know it.
Result<std::vector<std::string>> own_addresses(const JobSpec& job, const std::string& host) {
  if (!job.several_hosts) return std::vector<std::string>{"127.0.0.1"};
  std::string known = ssh_arrival();        // it works from outside
  if (known.empty()) {
    const auto named = rendezvous::local_address_towards({host, 1});
    if (named && named.value() == host) known = host;
  }
  // A host that was named by its loopback address is this one, with all its ranks.
  if (!known.empty() && rendezvous::is_loopback(known)) return std::vector<std::string>{known};
  auto all = rendezvous::addresses_to_publish(rendezvous::interface_addresses(), "");
  if (!all || known.empty()) return all;
  std::erase(*all, known);
  all->insert(all->begin(), known);
  return all;
}

class LocalSession final : public HostSession {
 public:
  LocalSession(const JobSpec& job, const HostPlan& plan, const rendezvous::JobKey& key)
      : job_(job),
        plan_(plan),
        key_(key),
        host_(plan.local ? rendezvous::host_name() : plan.host) {}

  const std::string& host() const override { return host_; }

  void open() override {
    const auto hosts = own_addresses(job_, plan_.host);
    if (!hosts) return fail(hosts.status());
    const bool one = hosts.value().size() == 1;
    bind_host_ = one ? hosts.value().front() : "";
    if (plan_.ranks.front().rank != 0) {
      pending_.push_back({Event::Kind::ready, -1, 0, ""});
      return;
    }
    auto listener =
        one ? rendezvous::listen_tcp(bind_host_, 0) : rendezvous::listen_everywhere(0);
    const auto port = listener ? rendezvous::port_of(*listener) : Result<int>(listener.status());
    if (!port) return fail(port.status());
    listener_ = std::move(*listener);
    std::vector<rendezvous::HostPort> addresses;
    for (const std::string& host : hosts.value()) addresses.push_back({host, port.value()});
    pending_.push_back({Event::Kind::ready, -1, 0, rendezvous::addresses_text(addresses)});
  }

  void start(const std::string& address) override {
    for (const RankPlan& rank : plan_.ranks) start_rank(rank, address);
    listener_.reset();
    started_ = true;
  }

  void signal(int number) override {
    const auto byte = static_cast<unsigned char>(number);
    for (Child& child : children_) {
      if (child.process.control.valid()) {
        ::send(child.process.control.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
      }
    }
  }

  void watch(std::vector<pollfd>& fds) const override {
    for (const Child& child : children_) {
      for (const Fd* fd : {&child.process.control, &child.process.out, &child.process.err}) {
        if (fd->valid()) fds.push_back({fd->get(), POLLIN, 0});
      }
    }
    // An event is already pending: do not sleep.
    if (!pending_.empty()) fds.push_back({ready_fd(), POLLOUT, 0});
  }

  void pump(std::vector<Event>& events) override {
    events.insert(events.end(), pending_.begin(), pending_.end());
    pending_.clear();
    for (Child& child : children_) {
      read_output(child, child.process.out, Event::Kind::out, events);
      read_output(child, child.process.err, Event::Kind::err, events);
      read_reports(child, events);
    }
  }

  bool over() const override {
    if (failed_) return true;
    for (const Child& child : children_) {
      if (child.process.control.valid()) return false;
    }
    return started_ && pending_.empty();
  }

 private:
  struct Child {
    int rank;
    Supervised process;
  };

  // A descriptor that is always writable.
  static int ready_fd() {
    static const Fd fd(::memfd_create("ready", MFD_CLOEXEC));
    return fd.get();
  }

  void fail(const Status& why) {
    failed_ = true;
    pending_.push_back({Event::Kind::host_failed, -1, 1, why.message()});
  }

  std::vector<std::string> environment_for(const RankPlan& rank, const std::string& address,
                                           int key_fd) const {
    std::map<std::string, std::string> all;
    for (char** at = environ; *at != nullptr; ++at) {
      const std::string_view entry = *at;
      const std::size_t equals = entry.find('=');
      if (equals == std::string_view::npos) continue;
      all[std::string(entry.substr(0, equals))] = entry.substr(equals + 1);
    }
    // Without this, Python would hold back its output to a pipe for as long as the job runs.
    all.try_emplace("PYTHONUNBUFFERED", "1");
    for (const auto& [name, value] : job_.environment) all[name] = value;
    for (const std::string_view name : kOwnVariables) all.erase(std::string(name));
    all["UNISONO_RANK"] = cat(rank.rank);
    all["UNISONO_SIZE"] = cat(job_.size);
    all["UNISONO_LOCAL_RANK"] = cat(rank.local_rank);
    all["UNISONO_LOCAL_SIZE"] = cat(rank.local_size);
    all["UNISONO_ADDRESS"] = address;
    all["UNISONO_KEY_FD"] = cat(key_fd);
    if (!bind_host_.empty()) all["UNISONO_BIND_HOST"] = bind_host_;
    all["UNISONO_HOST"] = host_;
    if (rank.rank == 0) all["UNISONO_LISTEN_FD"] = cat(listener_.get());
    add_torch_variables(rank, all);
    std::vector<std::string> list;
    for (const auto& [name, value] : all) list.push_back(cat(name, "=", value));
    return list;
  }

  // What torch.distributed reads, so that its programs run unmodified. With several hosts the
  // caller names a port that is free on rank 0's host.
  void add_torch_variables(const RankPlan& rank, std::map<std::string, std::string>& all) const {
    all["RANK"] = cat(rank.rank);
    all["WORLD_SIZE"] = cat(job_.size);
    all["LOCAL_RANK"] = cat(rank.local_rank);
    all["LOCAL_WORLD_SIZE"] = cat(rank.local_size);
    if (job_.several_hosts) return;
    all.try_emplace("MASTER_ADDR", "127.0.0.1");
    all.try_emplace("MASTER_PORT", cat(torch_port_));
  }

  void start_rank(const RankPlan& rank, const std::string& address) {
    // One memory file per rank: the key is never in an argument, a variable or a named file.
    const Fd key_fd(::memfd_create("unisono-key", MFD_CLOEXEC));
    const bool keyed =
        ::write(key_fd.get(), key_.data(), key_.size()) == static_cast<ssize_t>(key_.size());
    Start start{job_.program,
                environment_for(rank, address, key_fd.get()),
                job_.folder,
                -1,
                {key_fd.get()}};
    if (rank.rank == 0) start.inherited.push_back(listener_.get());
    if (rank.rank == 0 && job_.stdin_to_rank_0) start.input = 0;
    auto process = keyed ? start_supervised(start)
                         : Result<Supervised>(Status(Code::unavailable, "no memory for the key"));
    if (!process) {
      pending_.push_back({Event::Kind::not_started, rank.rank, 0, process.status().message()});
      return;
    }
    children_.push_back({rank.rank, std::move(*process)});
  }

  static void read_output(Child& child, Fd& fd, Event::Kind kind, std::vector<Event>& events) {
    char buffer[16384];
    while (fd.valid()) {
      const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
      if (n > 0) {
        events.push_back({kind, child.rank, 0, std::string(buffer, static_cast<std::size_t>(n))});
      } else if (n == 0) {
        fd.reset();
      } else if (errno != EINTR) {
        return;
      }
    }
  }

  void read_reports(Child& child, std::vector<Event>& events) {
    while (child.process.control.valid()) {
      Report report;
      const ssize_t n = ::recv(child.process.control.get(), &report, sizeof report, MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (n != sizeof report) {
        // The supervisor and everything it started are gone; what was printed can still be read.
        child.process.control.reset();
        retried([&] { return ::waitpid(child.process.supervisor, nullptr, 0); });
        read_output(child, child.process.out, Event::Kind::out, events);
        read_output(child, child.process.err, Event::Kind::err, events);
        child.process.out.reset();
        child.process.err.reset();
        return;
      }
      switch (report.kind) {
        case Report::Kind::started:
          events.push_back({Event::Kind::started, child.rank, report.value, ""});
          break;
        case Report::Kind::not_started:
          events.push_back(
              {Event::Kind::not_started, child.rank, 0,
               cat("cannot run ", job_.program.front(), ": ", std::strerror(report.value))});
          break;
        case Report::Kind::exited:
          events.push_back({Event::Kind::exited, child.rank, report.value, ""});
          break;
      }
    }
  }

  JobSpec job_;
  HostPlan plan_;
  rendezvous::JobKey key_;
  std::string host_;
  std::string bind_host_;                   // "": every address of this host
  const int torch_port_ = free_port();
  Fd listener_;
  std::vector<Child> children_;
  std::vector<Event> pending_;
  bool started_ = false, failed_ = false;
};

}  // namespace

std::unique_ptr<HostSession> make_local_session(const JobSpec& job, const HostPlan& plan,
                                                const rendezvous::JobKey& key) {
  return std::make_unique<LocalSession>(job, plan, key);
}

}  // namespace unisono::tools
