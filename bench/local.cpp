// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The collectives inside one host without the engine around them: what the machines of move/local
// cost by themselves. Ranks are processes, tensors are rewritten between runs, results are checked.
//
//   bench_local [ranks] [bytes,bytes,...] [float32|float16|bfloat16|...] [user|arena|both]
//
// One JSON line per size: median and tenth and ninetieth percentile in µs over the slowest rank.
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/os/cpu.hpp"
#include "kernels/kernels.hpp"
#include "move/local/local.hpp"

namespace {

using namespace unisono;
using SteadyClock = std::chrono::steady_clock;

constexpr int kMostRanks = 64;
constexpr int kMostRuns = 4000;

// Shared by all ranks: a barrier that costs no system call, and everybody's times.
struct Stage {
  std::atomic<std::uint32_t> arrived[2];
  float times_us[kMostRanks][kMostRuns];
};

struct Host {
  int n = 0;
  bool crowded = false;
  Stage* stage = nullptr;
  std::vector<std::unique_ptr<arena::Segment>> segments;
  std::vector<std::unique_ptr<Doorbell>> bells;
};

// Other work on the machine must not be able to stop a rank that another one waits for.
void pause(const Host& host) {
  thread_local int looks = 0;
  if (host.crowded || ++looks % 256 == 0) {
    ::sched_yield();
  } else {
    cpu_relax();
  }
}

void meet(const Host& host, std::uint32_t turn) {
  std::atomic<std::uint32_t>& count = host.stage->arrived[turn & 1];
  const std::uint32_t target = (turn / 2 + 1) * static_cast<std::uint32_t>(host.n);
  count.fetch_add(1, std::memory_order_acq_rel);
  while (count.load(std::memory_order_acquire) < target) pause(host);
}

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "bench_local: %s\n", why.c_str());
  std::_Exit(1);
}

int runs_for(std::size_t bytes) {
  const std::size_t by_size = (std::size_t{3} << 30) / std::max<std::size_t>(bytes, 1 << 20);
  return static_cast<int>(std::clamp<std::size_t>(by_size, 30, kMostRuns));
}

void fill(DType dtype, std::byte* data, std::size_t bytes, int value) {
  const std::vector<float> ones(bytes / size_of(dtype), static_cast<float>(value));
  kernels::cast(dtype, data, DType::f32, ones.data(), ones.size());
}

// Rank `me` of all sizes. Values are small whole numbers, exact in every type.
void work(Host& host, int me, const std::vector<std::size_t>& sizes, DType dtype, bool arena) {
  arena::Segment& own = *host.segments[static_cast<std::size_t>(me)];
  arena::Heap heap(arena::kBoardBytes, own.size());
  std::vector<arena::Neighbour> neighbours;
  for (int i = 0; i < host.n; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const std::size_t bytes = host.segments[index]->size();
    neighbours.push_back(
        {host.segments[index]->base(), bytes, bytes, host.bells[index]->ringer()});
  }
  move::LocalTeam team(std::move(neighbours), me, arena ? 1 : 0, &own, &heap);
  std::uint32_t turn = 0;
  for (const std::size_t bytes : sizes) {
    std::vector<std::byte> memory(arena ? 0 : bytes);
    std::byte* data = memory.data();
    if (arena) {
      const std::size_t offset = *heap.take(bytes, 2 << 20);
      if (!own.commit(offset, bytes).ok()) fail("no shared memory left");
      data = own.at(offset);
    }
    const int runs = runs_for(bytes);
    for (int run = -5; run < runs; ++run) {
      fill(dtype, data, bytes, 1 + me % 2 + (run & 1));
      meet(host, turn++);
      const auto begin = SteadyClock::now();
      auto machine = move::make_local_allreduce(
          team,
          {.dtype = dtype, .op = ReduceOp::sum, .items = {{data, data, 0, bytes}}, .bytes = bytes});
      while (machine->step() != move::Step::finished) pause(host);
      const double us =
          std::chrono::duration<double, std::micro>(SteadyClock::now() - begin).count();
      if (run >= 0) host.stage->times_us[me][run] = static_cast<float>(us);
      std::vector<std::byte> want(bytes);
      fill(dtype, want.data(), bytes, host.n * (1 + (run & 1)) + host.n / 2);
      if (want != std::vector<std::byte>(data, data + bytes)) fail("a sum is wrong");
    }
    meet(host, turn++);
    if (me == 0) {
      std::vector<float> slowest;
      for (int run = 0; run < runs; ++run) {
        float most = 0;
        for (int rank = 0; rank < host.n; ++rank)
          most = std::max(most, host.stage->times_us[rank][run]);
        slowest.push_back(most);
      }
      std::sort(slowest.begin(), slowest.end());
      const auto at = [&](std::size_t percent) {
        return slowest[(slowest.size() - 1) * percent / 100];
      };
      std::printf("{\"impl\": \"unisono, no engine\", \"memory\": \"%s\", \"dtype\": \"%s\", "
                  "\"ranks\": %d, \"bytes\": %zu, \"median_us\": %.2f, \"p10_us\": %.2f, "
                  "\"p90_us\": %.2f, \"repetitions\": %d, \"checked\": true}\n",
                  arena ? "arena" : "user", std::string(name_of(dtype)).c_str(), host.n, bytes,
                  static_cast<double>(at(50)), static_cast<double>(at(10)),
                  static_cast<double>(at(90)), runs);
      std::fflush(stdout);
    }
    meet(host, turn++);
  }
}

int run(int n, const std::vector<std::size_t>& sizes, DType dtype, bool arena) {
  Host host;
  host.n = n;
  cpu_set_t set;
  host.crowded = ::sched_getaffinity(0, sizeof set, &set) == 0 && n > CPU_COUNT(&set);
  void* stage =
      ::mmap(nullptr, sizeof(Stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (stage == MAP_FAILED) fail("no memory");
  host.stage = static_cast<Stage*>(stage);
  const std::size_t most = *std::max_element(sizes.begin(), sizes.end());
  for (int i = 0; i < n; ++i) {
    auto segment = arena::Segment::create(arena::kBoardBytes + 4 * most + (64 << 20));
    if (!segment) fail(segment.status().to_string());
    host.segments.push_back(std::make_unique<arena::Segment>(std::move(*segment)));
    host.bells.push_back(std::make_unique<Doorbell>());
  }
  std::vector<pid_t> ranks;
  for (int i = 0; i < n; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      work(host, i, sizes, dtype, arena);
      std::_Exit(0);
    }
    ranks.push_back(pid);
  }
  int failed = 0;
  for (const pid_t pid : ranks) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (status != 0) failed = 1;
  }
  ::munmap(stage, sizeof(Stage));
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 2;
  if (n < 1 || n > kMostRanks) fail("ranks: 1 to 64");
  std::vector<std::size_t> sizes;
  std::string list = argc > 2 ? argv[2] : "8,1024,16384,262144,1048576,4194304,16777216,67108864";
  for (char* at = list.data(); *at != '\0';) {
    sizes.push_back(std::strtoull(at, &at, 10));
    if (*at == ',') ++at;
  }
  DType dtype = DType::f32;
  for (int i = 0; argc > 3 && i < kDTypeCount; ++i) {
    if (name_of(static_cast<DType>(i)) == argv[3]) dtype = static_cast<DType>(i);
  }
  const std::string where = argc > 4 ? argv[4] : "both";
  int failed = 0;
  if (where != "arena") failed |= run(n, sizes, dtype, false);
  if (where != "user") failed |= run(n, sizes, dtype, true);
  return failed;
}
