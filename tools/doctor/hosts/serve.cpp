// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/hosts/serve.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>

#include "base/data/text.hpp"
#include "doctor/checks/network_probe.hpp"
#include "doctor/hosts/remote_report.hpp"
#include "doctor/traffic.hpp"
#include "exit_codes.hpp"
#include "processes/remote_shell.hpp"
#include "run/output.hpp"

namespace unisono::tools {
namespace {

constexpr unsigned kServeForS = 10;
constexpr std::size_t kInputMax = 4096;

std::int64_t wall_clock_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// Where the caller's ssh arrived comes first: jobs use that address, too (run/local_session.cpp).
std::vector<std::string> addresses_to_offer() {
  std::vector<std::string> addresses = addresses_for_others();
  const auto at = std::find(addresses.begin(), addresses.end(), ssh_arrival());
  if (at != addresses.end()) std::rotate(addresses.begin(), at, at + 1);
  return addresses;
}

class ServingDoctor {
 public:
  int serve() {
    ::fcntl(0, F_SETFL, ::fcntl(0, F_GETFL) | O_NONBLOCK);
    while (!over_ && clock_.now() < until_) {
      std::vector<pollfd> fds{{0, POLLIN, 0}};
      Time wake = until_;
      if (server_) {
        server_->watch(fds);
        wake = std::min(wake, server_->deadline());
      }
      const auto left_ms = std::max<std::int64_t>((wake - clock_.now()).count() / 1'000'000, 0);
      ::poll(fds.data(), fds.size(), static_cast<int>(left_ms) + 1);
      if (fds[0].revents != 0) read_lines();
      if (server_) server_->pump(clock_.now());
    }
    return exit_code_;
  }

 private:
  void read_lines() {
    char buffer[1024];
    const ssize_t n = ::read(0, buffer, sizeof buffer);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n > 0) input_.append(buffer, static_cast<std::size_t>(n));
    over_ = n <= 0 || input_.size() > kInputMax;
    for (std::size_t end = 0; !over_ && (end = input_.find('\n')) != std::string::npos;) {
      const std::string line = input_.substr(0, end);
      input_.erase(0, end + 1);
      obey(line);
    }
  }

  void obey(const std::string& line) {
    if (server_) {
      if (line == "clock") write_all(1, cat("clock ", wall_clock_ns(), "\n"));
      return;
    }
    const auto key = parse_key_line(line);
    if (!key) {
      exit_code_ = kWrongUsage;
      over_ = true;
      return;
    }
    server_ = std::make_unique<TrafficServer>(*key);
    // An address that cannot be listened on is not offered, and so is seen to be missing.
    for (const std::string& address : addresses_to_offer()) (void)server_->listen(address);
    write_all(1, serve_hello_line(server_->addresses()));
  }

  SteadyClock clock_;
  Time until_ = clock_.now() + std::chrono::seconds(kServeForS);
  std::string input_;
  std::unique_ptr<TrafficServer> server_;
  bool over_ = false;
  int exit_code_ = kSuccess;
};

}  // namespace

int serve_as_doctor() {
  ::alarm(kServeForS + 5);  // should a write to standard output wait for ever
  return ServingDoctor().serve();
}

}  // namespace unisono::tools
