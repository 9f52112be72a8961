// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/data/text.hpp"
#include "base/testing/effort.hpp"
#include "move/algorithms.hpp"
#include "move/testing/hosts.hpp"
#include "move/testing/oracle.hpp"

namespace unisono::move {
namespace {

struct HostShape {
  std::vector<int> sizes;
  bool dealt;
};
class AcrossHosts : public testing::TestWithParam<HostShape> {
 protected:
  Buffer bytes(std::size_t count) {
    Buffer out(count);
    for (auto& byte : out) byte = static_cast<std::byte>(hosts_.hub.rng()());
    return out;
  }
  std::size_t ranks() const { return hosts_.sets.size(); }

  Hosts hosts_{GetParam().sizes, 11, GetParam().dealt};
  std::uint64_t bucket_ = 0;
};
INSTANTIATE_TEST_SUITE_P(
    HostsAndRanks, AcrossHosts,
    testing::Values(HostShape{{2, 2}, false}, HostShape{{3, 3}, true}, HostShape{{2, 2, 2}, true},
                    HostShape{{5, 5, 5}, false}, HostShape{{4, 4, 4, 4}, true},
                    HostShape{{2, 2, 2, 2, 2, 2, 2, 2, 2}, false}, HostShape{{2, 1}, false},
                    HostShape{{1, 2}, true}, HostShape{{3, 1}, false}, HostShape{{4, 2, 1}, true},
                    HostShape{{2, 5}, true}, HostShape{{1, 6, 3}, false},
                    HostShape{{3, 2, 1, 1, 1, 2, 1, 1, 2}, true}),
    [](const auto& which) {
      std::string name = which.param.dealt ? "dealt" : "filled";
      for (const int size : which.param.sizes) name += cat("_", size);
      return name;
    });

TEST_P(AcrossHosts, EveryRankGathersRaggedParts) {
  // Nothing at all, less than a segment, and columns of several chunks.
  for (const std::size_t scale : {0u, 1u, 1000u, 700'000u}) {
    if (scale > 1000 && (ranks() > 12 || short_of_time())) continue;
    SCOPED_TRACE(cat("scale ", scale));
    Rng& rng = hosts_.hub.rng();
    Extents counts;
    Buffer expected;
    std::vector<Buffer> mine;
    for (std::size_t i = 0; i < ranks(); ++i) {
      counts.push_back(rng.below(3) == 0 ? 0 : rng.below(scale + 1));
      mine.push_back(bytes(counts.back()));
      expected.insert(expected.end(), mine.back().begin(), mine.back().end());
    }
    std::vector<Buffer> out(ranks(), Buffer(expected.size()));
    std::vector<std::unique_ptr<CollectiveMachine>> machines;
    ++bucket_;
    for (std::size_t i = 0, begin = 0; i < ranks(); begin += counts[i++]) {
      std::copy(mine[i].begin(), mine[i].end(),
                out[i].begin() + static_cast<std::ptrdiff_t>(begin));
      machines.push_back(
          make_allgather_hierarchical(hosts_.context(i, bucket_), mine[i], counts, out[i]));
    }
    hosts_.run(machines);
    for (const auto& result : out) ASSERT_EQ(result, expected);
  }
}

TEST_P(AcrossHosts, EveryRankGetsWhatTheRootHas) {
  for (std::size_t root = 0; root < ranks(); ++root) {
    for (const std::size_t size : {0u, 1u, 999u, 2'500'000u}) {
      if (size > 1000 && (root % 5 != 1 || short_of_time())) continue;
      SCOPED_TRACE(cat("root ", root, " size ", size));
      const Buffer expected = bytes(size);
      std::vector<Buffer> data(ranks(), Buffer(size));
      data[root] = expected;
      std::vector<std::unique_ptr<CollectiveMachine>> machines;
      ++bucket_;
      for (std::size_t i = 0; i < ranks(); ++i) {
        machines.push_back(make_broadcast_hierarchical(hosts_.context(i, bucket_),
                                                       static_cast<int>(root), data[i]));
      }
      hosts_.run(machines);
      for (const auto& result : data) ASSERT_EQ(result, expected);
    }
  }
}

TEST_P(AcrossHosts, LittleDataGoesFlat) {
  const MoveContext context = hosts_.context(0, 1);
  Buffer data(1 << 20);
  const auto flat = make_broadcast(context, 0, std::span(data).first(1000));
  EXPECT_TRUE(flat->describe().starts_with("broadcast/tree")) << flat->describe();
  const auto by_host = make_broadcast(context, 0, data);
  EXPECT_TRUE(by_host->describe().starts_with("broadcast/hierarchical")) << by_host->describe();
  Extents counts(ranks(), 0);
  counts[0] = data.size();
  const Buffer mine(data.size());
  const auto gather = make_allgather(context, mine, counts, data);
  EXPECT_TRUE(gather->describe().starts_with("allgather/hierarchical")) << gather->describe();
}

}  // namespace
}  // namespace unisono::move
