// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What one oversleep does to the engines' threads: steps before it, one in which the engine's thread
// of the last rank wakes late, and steps after it. bench/pacing.py runs all pacings and prints a
// table.
//
//   UNISONO_PACING=cycle unisono run -np 2 bench_pacing [late_ms] [compute_ms] [rounds_of_work] [steps]
//   bench_pacing calibrate                 # how many rounds of work a millisecond takes here
//
// Every rank prints one JSON line. The thread is late because a callback holds it, the only way in
// which a program can hold an engine's thread; the step's other tensors are those of every step, so
// that a plan stays as it is. A step computes in 8 pieces, slept (a device computes) or worked
// (rounds_of_work for each millisecond; the engine's thread needs a core as well), and submits two
// tensors after each.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "unisono/unisono.hpp"

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kTensors = 16, kPieces = 8, kElements = 4096;
constexpr int kWarmUp = 30;

[[noreturn]] void fail(const unisono::Status& status) {
  std::fprintf(stderr, "bench_pacing: %s\n", status.to_string().c_str());
  std::exit(1);
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// One round of work: some microseconds of arithmetic that no compiler removes.
double work(long rounds) {
  static volatile double sink = 1;
  double value = sink;
  for (long i = 0; i < rounds; ++i) {
    for (int j = 0; j < 1000; ++j) value = value * 1.0000001 + 1e-9;
  }
  sink = value;
  return value;
}

int calibrate() {
  work(20'000);                             // until the clock has gone up
  double best = 1e9;
  for (int i = 0; i < 9; ++i) {
    const auto begin = Clock::now();
    work(10'000);
    best = std::min(best, seconds_since(begin));
  }
  std::printf("%.2f\n", 10'000 / (best * 1e3));
  return 0;
}

struct Window {
  unisono::Stats stats;
  Clock::time_point at;
};

struct Trainer {
  unisono::Engine engine;
  double compute_ms, work_per_ms;
  std::vector<std::vector<float>> tensors{kTensors, std::vector<float>(kElements)};
  std::vector<double> step_ms;

  void compute() const {
    const double piece_ms = compute_ms / static_cast<double>(kPieces);
    if (work_per_ms > 0) {
      work(static_cast<long>(piece_ms * work_per_ms));
    } else {
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(piece_ms));
    }
  }

  // late_ms > 0: the engine's thread is held for so long when the first tensor is done.
  void step(double late_ms) {
    const auto begin = Clock::now();
    std::atomic<bool> held{late_ms <= 0};
    std::vector<unisono::Ticket> tickets;
    for (std::size_t i = 0; i < kTensors; ++i) {
      if (i % (kTensors / kPieces) == 0) compute();
      std::vector<float>& tensor = tensors[i];
      std::fill(tensor.begin(), tensor.end(), 1.0F);
      unisono::Settings settings{.op = unisono::ReduceOp::sum};
      // A callback on every first tensor: a thread that submits leaves the loop to the engine's
      // thread then, as in the papers, and so it does on all ranks alike.
      if (i == 0) {
        settings.on_done = [&, late_ms](const unisono::Status&) {
          if (late_ms <= 0) return;
          std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(late_ms));
          held = true;
        };
      }
      tickets.push_back(engine.allreduce<float>("layer" + std::to_string(i) + ".weight", tensor,
                                                settings));
    }
    // A thread that waits could run the callback itself.
    while (!held) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (const unisono::Ticket& ticket : tickets) {
      if (auto status = ticket.wait(); !status) fail(status);
    }
    if (tensors[0][0] != static_cast<float>(engine.size())) {
      fail({unisono::Code::internal, "a wrong sum"});
    }
    step_ms.push_back(seconds_since(begin) * 1e3);
  }

  Window now() const { return {engine.stats(), Clock::now()}; }
};

void print(const char* when, const Window& a, const Window& b, std::vector<double> step_ms) {
  const double wall = std::chrono::duration<double>(b.at - a.at).count();
  std::printf("\"%s\": {\"spinning\": %.5f, \"engine_cpu\": %.5f, \"messages_per_step\": %.3f, "
              "\"step_ms\": [",
              when, (b.stats.spinning_s - a.stats.spinning_s) / wall,
              (b.stats.engine_cpu_s - a.stats.engine_cpu_s) / wall,
              static_cast<double>(b.stats.control_messages - a.stats.control_messages) /
                  static_cast<double>(step_ms.size()));
  for (std::size_t i = 0; i < step_ms.size(); ++i) {
    std::printf("%s%.3f", i == 0 ? "" : ", ", step_ms[i]);
  }
  std::printf("]}");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "calibrate") == 0) return calibrate();
  const auto number = [&](int i, double otherwise) {
    return argc > i ? std::atof(argv[i]) : otherwise;
  };
  const double late_ms = number(1, 15);
  const int steps = static_cast<int>(number(4, 60));
  auto joined = unisono::Engine::join();
  if (!joined) fail(joined.status());
  Trainer trainer{std::move(*joined), number(2, 24), number(3, 0)};
  const bool late = trainer.engine.rank() == trainer.engine.size() - 1;
  for (int i = 0; i < kWarmUp; ++i) trainer.step(0);
  trainer.step_ms.clear();
  const Window a = trainer.now();
  for (int i = 0; i < steps; ++i) trainer.step(0);
  const Window b = trainer.now();
  const std::vector<double> before = std::exchange(trainer.step_ms, {});
  trainer.step(late ? late_ms : 0);
  trainer.step(0);                          // the one that meets the late thread is neither
  trainer.step_ms.clear();
  const Window c = trainer.now();
  for (int i = 0; i < steps; ++i) trainer.step(0);
  const Window d = trainer.now();
  std::printf("{\"rank\": %d, \"late\": %s, \"placement\": \"%s\", ", trainer.engine.rank(),
              late ? "true" : "false", trainer.engine.placement().reason.c_str());
  print("before", a, b, before);
  std::printf(", ");
  print("after", c, d, trainer.step_ms);
  std::printf("}\n");
  return 0;
}
