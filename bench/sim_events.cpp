// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Events per second of the simulator's queue and wires, without any order behind them: every actor
// keeps one timer going and sends a message each time it fires.
//
//   bench_sim_events [actors] [million events]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/data/rng.hpp"
#include "sim/event_queue.hpp"
#include "sim/network/wires.hpp"

int main(int argc, char** argv) {
  using namespace unisono;
  using namespace unisono::sim;
  const int actors = argc > 1 ? std::atoi(argv[1]) : 27'600;
  const long wanted = (argc > 2 ? std::atol(argv[2]) : 20) * 1'000'000;
  constexpr std::uint8_t kTimer = 0, kArrival = 1;
  EventQueue events;
  const Network network = parse_network("summit").value();
  const Faults faults;
  Wires wires(network, faults, actors, 6, 1, events, kArrival);
  Rng rng(1);
  for (int i = 0; i < actors; ++i) {
    events.push(static_cast<std::int64_t>(rng.below(1'000'000)), kTimer,
                static_cast<std::uint32_t>(i), 0);
  }
  std::vector<Parcel> parcels;
  std::uint64_t bytes = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (long n = 0; n < wanted; ++n) {
    const Event event = events.pop();
    if (event.kind() == kTimer) {
      const int to = static_cast<int>(rng.below(static_cast<std::uint64_t>(actors)));
      wires.send(event.at_ns, static_cast<int>(event.actor), to, std::vector<std::byte>(24));
      events.push(event.at_ns + 500'000 + static_cast<std::int64_t>(rng.below(1'000'000)), kTimer,
                  event.actor, 0);
    } else {
      parcels.clear();
      wires.arrive(event, parcels);
      bytes += parcels.front().bytes.size();
    }
  }
  const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%d actors, %ld events in %.2f s: %.2f M events/s (%llu bytes delivered)\n", actors,
              wanted, s, static_cast<double>(wanted) / s * 1e-6,
              static_cast<unsigned long long>(bytes));
  return 0;
}
