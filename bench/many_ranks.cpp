// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Many ranks as threads of one process, over TCP, as if each were a host of its own. Prints one JSON
// line: how long they took to join, how many connections and how much memory each has, what they
// cost while nothing happens, and how long small and large allreduces take.
//
//   bench_many_ranks [ranks=512] [idle seconds=5]
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "process_cpu.hpp"
#include "unisono/unisono.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double heap_bytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

[[noreturn]] void fail(int rank, const unisono::Status& status) {
  std::fprintf(stderr, "bench_many_ranks: rank %d: %s\n", rank, status.to_string().c_str());
  std::_Exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 512;
  const double idle_s = argc > 2 ? std::atof(argv[2]) : 5;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);

  const std::string job = "bench-many-ranks-" + std::to_string(::getpid());
  const auto begin = Clock::now();
  const double heap_before = heap_bytes();
  double join_s = 0, heap_joined = 0, idle_cpu = 0, small_s = 0, large_s = 0;
  std::atomic<std::uint64_t> joined_connections{0}, used_connections{0};
  const auto raise = [](std::atomic<std::uint64_t>& most, std::uint64_t value) {
    for (std::uint64_t seen = most; value > seen && !most.compare_exchange_weak(seen, value);) {
    }
  };
  std::barrier together(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      unisono::Options options;
      options.transport = "tcp";
      auto engine = unisono::Engine::join(
          options, [&](const std::string& name) -> std::optional<std::string> {
            if (name == "UNISONO_RANK") return std::to_string(rank);
            if (name == "UNISONO_SIZE") return std::to_string(ranks);
            if (name == "UNISONO_JOB") return job;
            return std::nullopt;
          });
      if (!engine) fail(rank, engine.status());
      together.arrive_and_wait();
      raise(joined_connections, engine->stats().connections);
      if (rank == 0) {
        join_s = seconds_since(begin);
        heap_joined = heap_bytes() - heap_before;
        std::this_thread::sleep_for(std::chrono::seconds(2));  // what the join left behind is over
        const double cpu = process_cpu_s();
        const auto from = Clock::now();
        std::this_thread::sleep_for(std::chrono::duration<double>(idle_s));
        idle_cpu = (process_cpu_s() - cpu) / seconds_since(from);
      }
      together.arrive_and_wait();
      const auto reduce = [&](const char* name, std::size_t elements) {
        std::vector<float> data(elements, 1.0F);
        const auto from = Clock::now();
        const unisono::Status status =
            engine->allreduce<float>(name, data, {.op = unisono::ReduceOp::sum}).wait();
        if (!status) fail(rank, status);
        if (data.back() != static_cast<float>(ranks)) {
          fail(rank, {unisono::Code::internal, "a wrong sum"});
        }
        together.arrive_and_wait();
        return seconds_since(from);
      };
      reduce("warm", 2);
      const double small = reduce("warm", 2);
      reduce("large", 64 << 10);
      const double large = reduce("large", 64 << 10);
      raise(used_connections, engine->stats().connections);
      if (rank == 0) {
        small_s = small;
        large_s = large;
      }
      together.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf(
      "{\"ranks\": %d, \"join_s\": %.2f, \"connections_joined\": %llu, \"connections_used\": %llu, "
      "\"heap_mb_per_rank\": %.2f, \"idle_cores\": %.3f, \"allreduce_8B_s\": %.3f, "
      "\"allreduce_256KiB_s\": %.3f}\n",
      ranks, join_s, static_cast<unsigned long long>(joined_connections.load()),
      static_cast<unsigned long long>(used_connections.load()),
      heap_joined / ranks / 1e6, idle_cpu, small_s, large_s);
}
