// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Data-parallel training with overlap: every layer's gradient is handed to unisono the moment the
// backward pass has finished it, and travels while the layers before it are still computed.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "data.hpp"
#include "network.hpp"
#include "progress.hpp"
#include "unisono/unisono.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// An example ends at the first fault; the message says who, what and why.
void expect(const unisono::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "mlp: %s\n", status.to_string().c_str());
  std::exit(1);
}

std::string tensor_name(std::size_t layer) { return "layer" + std::to_string(layer); }

// All ranks start from rank 0's parameters.
void share_parameters(unisono::Engine& engine, mlp::Network& network) {
  std::vector<unisono::Ticket> tickets;
  for (std::size_t l = 0; l < network.layers().size(); ++l) {
    tickets.push_back(engine.broadcast<float>(tensor_name(l), network.layers()[l].parameters, 0));
  }
  for (const auto& ticket : tickets) expect(ticket.wait());
}

struct Times {
  double total_s = 0;
  double exposed_s = 0;  // spent waiting for gradients: communication that nothing hid
};

Times train(unisono::Engine& engine, mlp::Network& network, const mlp::Arguments& arguments) {
  mlp::Source source(arguments.seed, static_cast<std::uint64_t>(engine.rank()));
  mlp::Progress progress(arguments.steps, engine.rank() == 0);
  std::vector<unisono::Ticket> tickets(network.layers().size());
  Times times;
  const auto start = Clock::now();
  for (int step = 1; step <= arguments.steps; ++step) {
    const mlp::Batch batch = source.draw(arguments.batch);
    const mlp::Score score = network.forward(batch);
    network.backward(batch, [&](std::size_t l) {
      tickets[l] = engine.allreduce<float>(tensor_name(l), network.layers()[l].gradient);
    });
    for (std::size_t l = tickets.size(); l-- > 0;) {
      const auto waiting = Clock::now();
      expect(tickets[l].wait());
      times.exposed_s += seconds_since(waiting);
      network.update(l, arguments.rate);
    }
    progress.step(step, score.loss, score.accuracy);
  }
  times.total_s = seconds_since(start);
  return times;
}

// Loss, accuracy and exposed time, averaged over the ranks.
std::array<double, 3> averages(unisono::Engine& engine, const mlp::Score& score,
                               const Times& times) {
  std::array<double, 3> values = {static_cast<double>(score.loss),
                                  static_cast<double>(score.accuracy), times.exposed_s};
  expect(engine.allreduce<double>("score", values).wait());
  return values;
}

bool same_on_all_ranks(unisono::Engine& engine, std::uint64_t hash) {
  std::array<std::uint64_t, 1> lowest = {hash}, highest = {hash};
  unisono::Settings settings;
  settings.op = unisono::ReduceOp::min;
  const auto low = engine.allreduce<std::uint64_t>("hash.lowest", lowest, settings);
  settings.op = unisono::ReduceOp::max;
  const auto high = engine.allreduce<std::uint64_t>("hash.highest", highest, settings);
  expect(low.wait());
  expect(high.wait());
  return lowest == highest;
}

void report(const unisono::Engine& engine, const mlp::Arguments& arguments,
            const mlp::Network& network, const Times& times,
            const std::array<double, 3>& averaged) {
  const double steps = arguments.steps;
  const double samples = steps * arguments.batch * engine.size();
  std::printf("\n%d rank%s, %zu parameters, %d steps of %d samples each\n", engine.size(),
              engine.size() == 1 ? "" : "s", network.parameters(), arguments.steps,
              arguments.batch);
  std::printf("  held-out loss          %.4f\n", averaged[0]);
  std::printf("  held-out accuracy      %.1f %%\n", averaged[1] * 100);
  std::printf("  throughput             %.0f samples/s\n", samples / times.total_s);
  std::printf("  step                   %.2f ms\n", times.total_s / steps * 1e3);
  std::printf("  exposed communication  %.2f ms a step, %.1f %%\n", averaged[2] / steps * 1e3,
              averaged[2] / times.total_s * 100);
  std::printf("  parameters             bit-identical on all ranks\n");
  std::printf("\nTry next: --transport tcp before the program to leave shared memory,\n"
              "          --batch 16 to give communication less to hide behind,\n"
              "          --hidden 2048,2048 for larger gradients, or -np 4.\n");
}

}  // namespace

int main(int argc, char** argv) {
  const mlp::Arguments arguments = mlp::parse_arguments(argc, argv);
  auto joined = unisono::Engine::join();
  expect(joined.status());
  unisono::Engine& engine = *joined;

  mlp::Network network(arguments.hidden, arguments.seed);
  share_parameters(engine, network);
  const Times times = train(engine, network, arguments);

  mlp::Source held_out(arguments.seed, 1'000'000 + static_cast<std::uint64_t>(engine.rank()));
  const mlp::Score score = network.forward(held_out.draw(512));
  const auto averaged = averages(engine, score, times);
  if (!same_on_all_ranks(engine, network.hash())) {
    std::fprintf(stderr, "mlp: the ranks hold different parameters\n");
    return 1;
  }
  if (engine.rank() == 0) report(engine, arguments, network, times, averaged);
  return 0;
}
