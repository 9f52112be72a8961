// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What agreeing costs: steps of 161 tensors, as many as ResNet-50 has, in an order of its own on every
// rank and step. The tensors are small, so that what is left is the control plane.
//
//   UNISONO_ORDER=cache UNISONO_PACING=event unisono run -np 4 bench_control [steps] [compute_ms]
//
// Rank 0 prints one JSON line: negotiation messages and bytes of all ranks per step, CPU of all engine
// threads and of all processes per step (application included), and how long submitting and agreeing
// took in the median step: means say more about what else runs on the machine. compute_ms is slept, in
// 8 pieces.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "process_cpu.hpp"
#include "unisono/unisono.hpp"

namespace {

constexpr std::size_t kTensors = 161;
constexpr int kWarmUp = 30;
constexpr int kRemembered = 12;             // steps whose timings the engine keeps

[[noreturn]] void fail(const unisono::Status& status) {
  std::fprintf(stderr, "bench_control: %s\n", status.to_string().c_str());
  std::exit(1);
}

struct Rank {
  unisono::Engine engine;
  std::mt19937 random;
  std::vector<std::string> names;
  std::vector<std::vector<float>> tensors;
  std::vector<std::size_t> turn;
  std::vector<double> submitting_us, negotiating_us;  // by step

  void step(int compute_ms) {
    std::shuffle(turn.begin(), turn.end(), random);
    std::vector<unisono::Ticket> tickets;
    for (std::size_t i = 0; i < kTensors; ++i) {
      if (compute_ms > 0 && i % (kTensors / 8) == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(compute_ms * 1000 / 8));
      }
      std::vector<float>& tensor = tensors[turn[i]];
      std::fill(tensor.begin(), tensor.end(), 1.0F);
      tickets.push_back(
          engine.allreduce<float>(names[turn[i]], tensor, {.op = unisono::ReduceOp::sum}));
    }
    for (const unisono::Ticket& ticket : tickets) {
      if (auto status = ticket.wait(); !status) fail(status);
    }
    for (const std::vector<float>& tensor : tensors) {
      if (tensor[0] != static_cast<float>(engine.size()))
        fail({unisono::Code::internal, "a wrong sum"});
    }
  }
  // Of each step whose tensors are all remembered: from the first submission to the last, and to the
  // last agreement.
  void note_negotiation() {
    const auto timings = engine.timings();
    for (std::size_t end = timings.size(); end >= kTensors; end -= kTensors) {
      double first = 1e300, last = 0, agreed = 0;
      for (std::size_t i = end - kTensors; i < end; ++i) {
        first = std::min(first, timings[i].submitted_us);
        last = std::max(last, timings[i].submitted_us);
        agreed = std::max(agreed, timings[i].submitted_us + timings[i].negotiation_us);
      }
      submitting_us.push_back(last - first);
      negotiating_us.push_back(agreed - first);
    }
  }
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100;
  const int compute_ms = argc > 2 ? std::atoi(argv[2]) : 0;
  auto joined = unisono::Engine::join();
  if (!joined) fail(joined.status());
  const auto seed = static_cast<unsigned>(joined->rank()) * 7919U + 1;
  Rank rank{
      std::move(*joined), std::mt19937(seed), {}, {}, std::vector<std::size_t>(kTensors), {}, {}};
  std::iota(rank.turn.begin(), rank.turn.end(), std::size_t{0});
  for (std::size_t i = 0; i < kTensors; ++i) {
    rank.names.push_back("layer" + std::to_string(i / 3) + ".block.conv" + std::to_string(i) +
                         ".weight");
    rank.tensors.emplace_back(16);
  }
  for (int i = 0; i < kWarmUp; ++i) rank.step(compute_ms / 4);
  const unisono::Stats before = rank.engine.stats();
  const double cpu = process_cpu_s();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) rank.step(compute_ms);
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const unisono::Stats after = rank.engine.stats();
  std::vector<double> totals = {
      static_cast<double>(after.control_messages - before.control_messages),
      static_cast<double>(after.control_bytes - before.control_bytes),
      process_cpu_s() - cpu,
      0,
      static_cast<double>(after.wakeups - before.wakeups),
      after.engine_cpu_s - before.engine_cpu_s,
      0,
      static_cast<double>(after.buckets - before.buckets)};
  for (int i = 1; i <= steps; ++i) {
    rank.step(compute_ms);
    if (i % kRemembered == 0) rank.note_negotiation();
  }
  totals[3] = median(rank.negotiating_us);
  totals[6] = median(rank.submitting_us);
  if (auto status =
          rank.engine.allreduce<double>("totals", totals, {.op = unisono::ReduceOp::sum}).wait();
      !status) {
    fail(status);
  }
  if (rank.engine.rank() == 0) {
    const unisono::Options& options = rank.engine.options();
    std::printf(
        "{\"order\": \"%s\", \"pacing\": \"%s\", \"ranks\": %d, \"steps\": %d, \"compute_ms\": %d, "
        "\"messages_per_step\": %.2f, \"bytes_per_step\": %.1f, \"engine_thread_cpu_ms_per_step\": "
        "%.3f, "
        "\"process_cpu_ms_per_step\": %.3f, \"wakeups_per_step\": %.2f, \"buckets_per_step\": "
        "%.2f, \"submitting_us\": %.1f, \"negotiation_us\": %.1f, \"step_us\": %.1f}\n",
        options.order.c_str(), options.pacing.c_str(), rank.engine.size(), steps, compute_ms,
        totals[0] / steps, totals[1] / steps, totals[5] / steps * 1e3, totals[2] / steps * 1e3,
        totals[4] / steps, totals[7] / steps / rank.engine.size(), totals[6] / rank.engine.size(),
        totals[3] / rank.engine.size(), wall / steps * 1e6);
  }
  return 0;
}
