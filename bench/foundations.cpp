// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Measures what the foundations promise. Each mode prints one JSON line on rank 0.
//
//   unisono run -np 2 bench_foundations latency [iterations]   named 8-byte allreduce, µs
//   unisono run -np 2 bench_foundations idle [seconds]         CPU and wake-ups of an idle engine
//   unisono run -np 2 bench_foundations startup                join to first barrier, ms
//   bench_foundations threads [ranks]                          ranks as threads join, ms
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "process_cpu.hpp"
#include "unisono/unisono.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double since_us(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

[[noreturn]] void fail(const unisono::Status& status) {
  std::fprintf(stderr, "bench_foundations: %s\n", status.to_string().c_str());
  std::exit(1);
}

unisono::Engine join() {
  auto engine = unisono::Engine::join();
  if (!engine) fail(engine.status());
  return std::move(*engine);
}

void latency(int iterations) {
  unisono::Engine engine = join();
  std::vector<double> times;
  std::vector<double> value(1);
  for (int i = -200; i < iterations; ++i) {
    value[0] = engine.rank() + i;
    const auto begin = Clock::now();
    const unisono::Status status =
        engine.allreduce<double>("x", value, {.op = unisono::ReduceOp::sum}).wait();
    if (!status) fail(status);
    const double us = since_us(begin);
    const double n = engine.size();
    if (value[0] != n * (n - 1) / 2 + n * i) fail({unisono::Code::internal, "a wrong sum"});
    if (i >= 0) times.push_back(us);
  }
  std::sort(times.begin(), times.end());
  const auto at = [&](double q) {
    return times[static_cast<std::size_t>(q * static_cast<double>(times.size() - 1))];
  };
  if (engine.rank() == 0) {
    const unisono::Stats stats = engine.stats();
    const auto each = [&](std::uint64_t n) { return static_cast<double>(n) / (iterations + 200); };
    std::printf(
        "{\"mode\":\"latency\",\"ranks\":%d,\"bytes\":8,\"median_us\":%.2f,\"p10_us\":%.2f,"
        "\"p90_us\":%.2f,\"p99_us\":%.2f,\"repetitions\":%zu,\"wakeups_each\":%.3f,"
        "\"control_messages_each\":%.3f}\n",
        engine.size(), at(0.5), at(0.1), at(0.9), at(0.99), times.size(), each(stats.wakeups),
        each(stats.control_messages));
  }
}

void idle(int seconds) {
  unisono::Engine engine = join();
  if (auto status = engine.barrier().wait(); !status) fail(status);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const double cpu = process_cpu_s();
  const auto wakeups = engine.stats().wakeups;
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  const double percent = (process_cpu_s() - cpu) / seconds * 100;
  const double rate = static_cast<double>(engine.stats().wakeups - wakeups) / seconds;
  if (engine.rank() == 0) {
    std::printf("{\"mode\":\"idle\",\"ranks\":%d,\"seconds\":%d,\"cpu_percent_of_a_core\":%.4f,"
                "\"wakeups_per_s\":%.2f}\n",
                engine.size(), seconds, percent, rate);
  }
  if (auto status = engine.barrier().wait(); !status) fail(status);
}

void startup() {
  const auto begin = Clock::now();
  unisono::Engine engine = join();
  const double joined = since_us(begin) / 1000;
  if (auto status = engine.barrier().wait(); !status) fail(status);
  if (engine.rank() == 0) {
    std::printf("{\"mode\":\"startup\",\"ranks\":%d,\"join_ms\":%.2f,\"first_barrier_ms\":%.2f}\n",
                engine.size(), joined, since_us(begin) / 1000);
  }
}

void threads(int ranks) {
  const auto begin = Clock::now();
  unisono::ThreadWorld world(ranks);
  std::vector<std::thread> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.emplace_back([&, rank] {
      auto engine = unisono::Engine::join({}, world, rank);
      if (!engine) fail(engine.status());
      if (auto status = engine->barrier().wait(); !status) fail(status);
      if (rank == 0) {
        std::printf("{\"mode\":\"threads\",\"ranks\":%d,\"joined_ms\":%.2f}\n", ranks,
                    since_us(begin) / 1000);
      }
    });
  }
  for (auto& thread : all) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? std::atoi(argv[2]) : 0;
  if (mode == "latency") {
    latency(number > 0 ? number : 5000);
  } else if (mode == "idle") {
    idle(number > 0 ? number : 10);
  } else if (mode == "startup") {
    startup();
  } else if (mode == "threads") {
    threads(number > 0 ? number : 64);
  } else {
    std::fprintf(stderr, "usage: bench_foundations latency|idle|startup|threads [number]\n");
    return 2;
  }
  return 0;
}
