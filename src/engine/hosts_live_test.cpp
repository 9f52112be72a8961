// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Engines whose ranks are on several hosts, as far as shared memory tells: everything that combines
// memory within hosts and messages between them, from submission to result.
#include <gtest/gtest.h>

#include <latch>
#include <string>

#include "base/data/text.hpp"
#include "engine/testing/thread_ranks.hpp"
#include "kernels/kernels.hpp"

namespace unisono::engine {
namespace {

// Hosts are filled one after the other, so that the last one may have fewer ranks.
void run_divided(int ranks, int each, const std::function<void(Engine&)>& body) {
  Options options;
  options.algorithm = "hierarchical";       // the first runs would try others, too
  run_ranks(ranks, body, options, each);
}
void run_on_hosts(int hosts, int each, const std::function<void(Engine&)>& body) {
  run_divided(hosts * each, each, body);
}

constexpr std::size_t kElements = 200'000;

// 0 + 1 + ... over the ranks, and so many for every rank.
float sum_of_ranks(const Engine& engine, float more) {
  const auto n = static_cast<float>(engine.size());
  return n * (n - 1) / 2 + n * more;
}

TEST(HostsLive, APersistentOperationIsReducedWithinHostsFirst) {
  run_on_hosts(2, 4, [](Engine& engine) {
    std::vector<float> data(kElements);
    auto persistent = engine.prepare_allreduce("p", std::span(data), {.op = ReduceOp::sum});
    ASSERT_TRUE(persistent.ok()) << persistent.status().to_string();
    const std::uint64_t before = engine.stats().data_bytes;
    constexpr int kRuns = 6;
    for (int run = 0; run < kRuns; ++run) {
      const auto more = static_cast<float>(run);
      std::fill(data.begin(), data.end(), static_cast<float>(engine.rank()) + more);
      const Status status = persistent->start().wait();
      ASSERT_TRUE(status.ok()) << status.to_string();
      ASSERT_EQ(data, std::vector<float>(kElements, sum_of_ranks(engine, more)));
    }
    // A rank sends its quarter of half of the data twice; between all ranks it would send 7/4.
    const std::uint64_t sent = engine.stats().data_bytes - before;
    EXPECT_LT(sent, kRuns * kElements * sizeof(float) / 2);
    EXPECT_TRUE(persistent->release().ok());
    EXPECT_TRUE(engine.barrier().wait().ok());
  });
}

TEST(HostsLive, PersistentOperationsComeAndGo) {
  run_on_hosts(2, 2, [](Engine& engine) {
    for (int round = 0; round < 70; ++round) {   // more than a board has places
      std::vector<float> data(30'000, 1.0F);
      auto persistent = engine.prepare_allreduce(cat("p", round), std::span(data));
      ASSERT_TRUE(persistent.ok()) << persistent.status().to_string();
      const Status status = persistent->start().wait();
      ASSERT_TRUE(status.ok()) << status.to_string();
      ASSERT_EQ(data, std::vector<float>(data.size(), 1.0F));
      ASSERT_TRUE(persistent->release().ok());
    }
  });
}

TEST(HostsLive, ShortFloatsAndCodecsAreReducedWithinHostsFirst) {
  for (const std::string codec : {"none", "fp16", "bf16"}) {
    run_on_hosts(2, 4, [&](Engine& engine) {
      const std::vector<float> values(kElements, static_cast<float>(engine.rank()) + 1);
      std::vector<std::byte> data(kElements * (codec == "none" ? 2 : 4));
      const DType dtype = codec == "none" ? DType::bf16 : DType::f32;
      kernels::cast(dtype, data.data(), DType::f32, values.data(), values.size());
      const std::uint64_t before = engine.stats().data_bytes;
      Operation operation{.kind = Collective::allreduce, .name = "t", .dtype = dtype,
                          .shape = {static_cast<std::int64_t>(kElements)}, .input = data.data(),
                          .output = data.data()};
      Settings settings{.op = ReduceOp::sum};
      if (codec != "none") settings.codec = codec;
      const Status status = engine.submit(operation, settings).wait();
      ASSERT_TRUE(status.ok()) << status.to_string();
      std::vector<float> result(kElements);
      kernels::cast(DType::f32, result.data(), dtype, data.data(), kElements);
      ASSERT_EQ(result, std::vector<float>(kElements, 36.0F)) << codec;
      // Partials of a quarter of the data, then results: 3/8 of two bytes each.
      EXPECT_LT(engine.stats().data_bytes - before, kElements) << codec;
      EXPECT_TRUE(engine.barrier().wait().ok());
    });
  }
}

TEST(HostsLive, GathersAndBroadcastsReachEveryHostOnce) {
  run_on_hosts(2, 4, [](Engine& engine) {
    const auto n = static_cast<std::size_t>(engine.size());
    const std::vector<float> mine(kElements / n, static_cast<float>(engine.rank()));
    std::vector<float> data(kElements, engine.rank() == 5 ? 7.0F : 0.0F);
    constexpr int kRounds = 3;
    const std::uint64_t before = engine.stats().data_bytes;
    for (int round = 0; round < kRounds; ++round) {
      const Ticket gathered = engine.allgather(cat("g", round), std::span(mine));
      ASSERT_TRUE(gathered.wait().ok());
      const auto* values = reinterpret_cast<const float*>(gathered.output().bytes.data());
      for (std::size_t i = 0; i < kElements; ++i) {
        ASSERT_EQ(values[i], static_cast<float>(i / mine.size()));
      }
      ASSERT_TRUE(engine.broadcast(cat("b", round), std::span(data), 5).wait().ok());
      ASSERT_EQ(data, std::vector<float>(kElements, 7.0F));
    }
    // Its own part to one rank of the other host; the root sends everything there as well.
    const std::size_t root_bytes = engine.rank() == 5 ? kElements * sizeof(float) : 0;
    EXPECT_LT(engine.stats().data_bytes - before,
              kRounds * (root_bytes + 2 * mine.size() * sizeof(float)));
    EXPECT_TRUE(engine.barrier().wait().ok());
  });
}

// 4 ranks on one host and 1 on another; 3, 3 and 1.
TEST(HostsLive, HostsMayHaveUnequalNumbersOfRanks) {
  for (const auto& [ranks, each] : {std::pair{5, 4}, std::pair{7, 3}}) {
    run_divided(ranks, each, [](Engine& engine) {
      std::vector<float> data(kElements);
      auto persistent = engine.prepare_allreduce("p", std::span(data), {.op = ReduceOp::sum});
      ASSERT_TRUE(persistent.ok()) << persistent.status().to_string();
      const auto n = static_cast<std::size_t>(engine.size());
      const std::uint64_t before = engine.stats().data_bytes;
      for (int run = 0; run < 3; ++run) {
        const auto more = static_cast<float>(run);
        std::fill(data.begin(), data.end(), static_cast<float>(engine.rank()) + more);
        Status status = persistent->start().wait();
        ASSERT_TRUE(status.ok()) << status.to_string();
        ASSERT_EQ(data, std::vector<float>(kElements, sum_of_ranks(engine, more)));
        // The same through codecs, and as short floats travel.
        std::fill(data.begin(), data.end(), 1.0F);
        Settings settings{.op = ReduceOp::sum};
        settings.codec = run == 0 ? "fp16" : "bf16";
        status = engine.allreduce(cat("c", run), std::span(data), settings).wait();
        ASSERT_TRUE(status.ok()) << status.to_string();
        ASSERT_EQ(data, std::vector<float>(kElements, static_cast<float>(n)));
        ASSERT_TRUE(engine.broadcast(cat("b", run), std::span(data), engine.size() - 1).wait().ok());
        const std::vector<float> mine(kElements / n, static_cast<float>(engine.rank()));
        const Ticket gathered = engine.allgather(cat("g", run), std::span(mine));
        ASSERT_TRUE(gathered.wait().ok());
        const auto* values = reinterpret_cast<const float*>(gathered.output().bytes.data());
        for (std::size_t i = 0; i < n * mine.size(); ++i) {
          ASSERT_EQ(values[i], static_cast<float>(i / mine.size()));
        }
      }
      // Only as many ranks of a host send as the smallest has.
      const bool sends = engine.rank() % (n == 5 ? 4 : 3) == 0;
      EXPECT_EQ(engine.stats().data_bytes - before > kElements, sends) << engine.rank();
      EXPECT_TRUE(persistent->release().ok());
      EXPECT_TRUE(engine.barrier().wait().ok());
    });
  }
}

TEST(HostsLive, ReduceScattersLeaveAHostOnce) {
  for (const auto& [ranks, each] : {std::pair{8, 4}, std::pair{7, 4}, std::pair{4, 3}}) {
    run_divided(ranks, each, [](Engine& engine) {
      const auto n = static_cast<std::size_t>(engine.size());
      for (const std::size_t part : {std::size_t{3}, std::size_t{50'000}}) {
        std::vector<float> data(n * part);
        for (std::size_t i = 0; i < data.size(); ++i) {
          data[i] = static_cast<float>(engine.rank()) + static_cast<float>(i / part);
        }
        const std::uint64_t before = engine.stats().data_bytes;
        const Ticket ticket =
            engine.reducescatter(cat("s", part), std::span<const float>(data), {.op = ReduceOp::sum});
        ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().to_string();
        const auto* values = reinterpret_cast<const float*>(ticket.output().bytes.data());
        for (std::size_t i = 0; i < part; ++i) {
          ASSERT_EQ(values[i], sum_of_ranks(engine, static_cast<float>(engine.rank())));
        }
        // Flat, every rank would send all parts but its own. The first host is never the smaller.
        if (engine.rank() < 3) {
          EXPECT_LE(engine.stats().data_bytes - before, n / 4 * part * sizeof(float) + 10'000);
        }
      }
      EXPECT_TRUE(engine.barrier().wait().ok());
    });
  }
}

TEST(HostsLive, AllToAllsTravelInBundles) {
  for (const auto& [ranks, each] : {std::pair{8, 4}, std::pair{7, 4}, std::pair{4, 3}}) {
    run_divided(ranks, each, [](Engine& engine) {
      const std::int64_t n = engine.size(), me = engine.rank();
      for (const bool uneven : {false, true}) {
        // Rank i sends 100 rows to everyone, or (i + j) % 3 of them to rank j.
        const auto rows = [&](std::int64_t from, std::int64_t to) {
          return uneven ? (from + to) % 3 * 1000 : 100;
        };
        std::vector<std::int64_t> data;
        Settings settings;
        for (std::int64_t to = 0; to < n; ++to) {
          settings.splits.push_back(rows(me, to));
          data.insert(data.end(), static_cast<std::size_t>(rows(me, to)), me * 100 + to);
        }
        const Ticket ticket =
            engine.alltoall(cat("a", uneven), std::span<const std::int64_t>(data), settings);
        ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().to_string();
        const auto* value = reinterpret_cast<const std::int64_t*>(ticket.output().bytes.data());
        for (std::int64_t from = 0; from < n; ++from) {
          ASSERT_EQ(ticket.output().splits[static_cast<std::size_t>(from)], rows(from, me));
          for (std::int64_t i = 0; i < rows(from, me); ++i) ASSERT_EQ(*value++, from * 100 + me);
        }
      }
      EXPECT_TRUE(engine.barrier().wait().ok());
    });
  }
}

// Of a rank that is gone all others hear, whether they needed it by memory or by messages.
TEST(HostsLive, AllNameTheRankThatLeftInTheMiddle) {
  for (const Rank leaver : {1, 4}) {
    std::latch heard(4);                    // nobody else leaves before all have heard
    run_divided(5, 4, [&](Engine& engine) {
      std::vector<float> data(kElements, 1.0F);
      auto persistent = engine.prepare_allreduce("p", std::span(data), {.op = ReduceOp::sum});
      EXPECT_TRUE(persistent.ok()) << persistent.status().to_string();
      EXPECT_TRUE(persistent->start().wait().ok());
      if (engine.rank() == leaver) return;
      const Status status = persistent->start().wait();
      EXPECT_FALSE(status.ok());
      EXPECT_EQ(status.culprit().rank, leaver) << status.to_string();
      heard.arrive_and_wait();
    });
  }
}

}  // namespace
}  // namespace unisono::engine
