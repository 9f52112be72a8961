// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/speed.hpp"

#include <sys/eventfd.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/data/text.hpp"
#include "base/os/fd.hpp"
#include "rendezvous/connect/sockets.hpp"
#include "text_table.hpp"

namespace unisono::tools {
namespace {

constexpr const char* kLoopbackHost = "127.0.0.1";
constexpr Nanos kReachWithin = std::chrono::seconds(2);
constexpr Nanos kCopyFor = std::chrono::milliseconds(250);
// Far below what any machine does that has nothing else to do.
constexpr double kSlowLoopback = 0.1, kSlowCopy = 0.5;  // GB/s

std::string host_of(const std::string& address) {
  const auto parsed = rendezvous::parse_address(address);
  return parsed ? parsed.value().host : address;
}

// Runs a server beside the calling thread until it goes. The server belongs to its thread.
class BesideThread {
 public:
  explicit BesideThread(TrafficServer& server)
      : stop_(::eventfd(0, EFD_CLOEXEC)), thread_([this, &server] { serve(server); }) {}
  ~BesideThread() {
    const std::uint64_t one = 1;
    [[maybe_unused]] auto n = ::write(stop_.get(), &one, sizeof one);
    thread_.join();
  }

 private:
  void serve(TrafficServer& server) const {
    const SteadyClock clock;
    for (;;) {
      std::vector<pollfd> fds{{stop_.get(), POLLIN, 0}};
      server.watch(fds);
      ::poll(fds.data(), fds.size(), 100);
      if (fds[0].revents != 0) return;
      server.pump(clock.now());
    }
  }

  Fd stop_;
  std::thread thread_;
};

double shared_copy_gb_per_s() {
  constexpr std::size_t kBytes = 32 << 20;  // beyond most caches
  const Fd memory(::memfd_create("unisono-doctor", MFD_CLOEXEC));
  if (!memory.valid() || ::ftruncate(memory.get(), 2 * kBytes) != 0) return 0;
  void* at = ::mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (at == MAP_FAILED) return 0;
  auto* bytes = static_cast<std::byte*>(at);
  std::memset(bytes, 1, 2 * kBytes);  // the pages are made here, not while the time is taken
  const SteadyClock clock;
  const Time began = clock.now();
  double copied = 0;
  while (clock.now() - began < kCopyFor) {
    std::memcpy(bytes + kBytes, bytes, kBytes);
    copied += kBytes;
    bytes[0] = bytes[2 * kBytes - 1];  // each copy depends on the one before
  }
  const double took_s = nanos_to_seconds(clock.now() - began);
  ::munmap(at, 2 * kBytes);
  return copied * 1e-9 / took_s;
}

}  // namespace

std::string traffic_text(const Traffic& traffic) {
  return cat(fixed(traffic.gb_per_s, 2), " GB/s, round trip ",
             fixed(traffic.round_trip_us, traffic.round_trip_us < 10 ? 1 : 0), " us");
}

Finding judge_own_addresses(const std::vector<Reached>& tried) {
  const std::string name = "own addresses";
  std::vector<std::string> reached, missed;
  bool loopback = false;
  for (const Reached& each : tried) {
    const std::string host = host_of(each.address);
    if (each.trouble.empty()) {
      reached.push_back(host);
      loopback = loopback || rendezvous::is_loopback(host);
    } else {
      missed.push_back(cat(host, ": ", each.trouble));
    }
  }
  const std::string found =
      cat(reached.empty() ? "" : cat("reached through ", join_text(reached)),
          reached.empty() || missed.empty() ? "" : "; ", join_text(missed, "; "));
  const std::string mend =
      "let a firewall pass TCP between this machine's own addresses (nft list ruleset shows it), "
      "or choose another address with UNISONO_BIND_HOST";
  if (!loopback) return lacking(name, tried.empty() ? "none" : found, mend);
  return missed.empty() ? good(name, found) : doubtful(name, found, mend);
}

Finding judge_loopback(const Result<Traffic>& measured) {
  const std::string name = "loopback TCP";
  const std::string mend = "see what else uses the CPUs (top), or limits loopback (tc qdisc)";
  if (!measured) {
    return lacking(name, measured.status().message(), "see the row \"own addresses\"");
  }
  const std::string found = traffic_text(measured.value());
  return measured.value().gb_per_s < kSlowLoopback ? doubtful(name, found, mend)
                                                   : good(name, found);
}

Finding judge_shared_copy(double gb_per_s) {
  const std::string name = "copy in shared memory";
  if (gb_per_s <= 0) {
    return doubtful(name, "no shared memory to copy through", "see the row \"shared memory\"");
  }
  const std::string found = cat(fixed(gb_per_s, 2), " GB/s by one thread");
  return gb_per_s < kSlowCopy
             ? doubtful(name, found, "see what else uses the memory and the CPUs (top)")
             : good(name, found);
}

std::vector<Finding> check_speed(const std::vector<std::string>& addresses, OwnSpeed& speed) {
  const rendezvous::JobKey key = rendezvous::make_job_key();
  TrafficServer server(key);
  std::vector<Reached> tried;
  std::vector<std::string> hosts{kLoopbackHost};
  for (const std::string& host : addresses) {
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  }
  for (const std::string& host : hosts) {
    if (Status bad = server.listen(host); !bad.ok()) {
      tried.push_back({rendezvous::address_text(host, 1), Fd(), bad.message()});
    }
  }
  Result<Traffic> loopback(Status(Code::unavailable, "127.0.0.1 was not reached"));
  {
    const BesideThread beside(server);
    const SteadyClock clock;
    for (Reached& each : reach_servers(server.addresses(), key, clock.now() + kReachWithin)) {
      if (host_of(each.address) == kLoopbackHost && each.socket.valid()) {
        loopback = measure_traffic(each.socket);
      }
      tried.push_back(std::move(each));
    }
  }
  if (loopback) speed.loopback = loopback.value();
  speed.copy_gb_per_s = shared_copy_gb_per_s();
  return {judge_own_addresses(tried), judge_loopback(loopback),
          judge_shared_copy(speed.copy_gb_per_s)};
}

}  // namespace unisono::tools
