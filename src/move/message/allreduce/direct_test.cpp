// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The direct allreduce from and into regions: any lengths, in place or apart as each member likes,
// averages and scalings finished by the owner, votes, and memory that is taken back in the middle.
#include <gtest/gtest.h>

#include <numeric>

#include "base/data/text.hpp"
#include "base/testing/effort.hpp"
#include "kernels/kernels.hpp"
#include "kernels/kernels_reference.hpp"
#include "move/message/segments.hpp"
#include "move/testing/fake_transport.hpp"

namespace unisono::move {
namespace {

using Buffer = std::vector<std::byte>;

std::uint64_t seeds(std::uint64_t all) { return short_of_time() ? all / 4 : all; }

Buffer random_floats(std::size_t count, Rng& rng) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(rng.below(4096)) / 16;
  Buffer out(count * sizeof(float));
  if (count > 0) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

// Regions of a bucket on all members, what their results must be, and a machine for each member.
struct RegionsDeal {
  RegionsDeal(int members, std::uint64_t seed, bool votes) : hub(members, seed), n(members) {
    Rng& rng = hub.rng();
    ranks.resize(static_cast<std::size_t>(n));
    std::iota(ranks.begin(), ranks.end(), 0);
    for (const Rank rank : ranks) sets.push_back(Members::of(ranks, rank));
    const std::size_t regions = 1 + rng.below(6);
    for (std::size_t r = 0; r < regions; ++r) {
      constexpr std::size_t kCounts[] = {0, 1, 7, 1000, 70'000, 200'003};
      counts.push_back(kCounts[rng.below(6)]);
      divisors.push_back(rng.below(2) == 0 ? 1 : static_cast<std::int64_t>(n));
      postscales.push_back(rng.below(2) == 0 ? 1.0 : 0.25);
    }
    scratch.resize(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (votes) said.push_back(static_cast<PlanVote>(rng.below(20) == 0 ? 2 : rng.below(8) == 0));
      add_member(i);
    }
    for (std::size_t r = 0; r < regions; ++r) expected.push_back(reduce(r));
  }

  void add_member(std::size_t i) {
    Rng& rng = hub.rng();
    DirectWork work{.dtype = DType::f32, .op = ReduceOp::sum};
    if (!said.empty()) work.vote = said[i];
    inputs.emplace_back();
    before.emplace_back();
    outputs.emplace_back();
    for (std::size_t r = 0; r < counts.size(); ++r) {
      inputs[i].push_back(std::make_unique<Buffer>(random_floats(counts[r], rng)));
      before[i].push_back(*inputs[i][r]);
      const bool in_place = rng.below(2) == 0;
      outputs[i].push_back(in_place ? nullptr
                                    : std::make_unique<Buffer>(inputs[i][r]->size(), kMark));
      work.regions.push_back({.in = *inputs[i][r],
                              .out = in_place ? *inputs[i][r] : *outputs[i][r],
                              .divisor = divisors[r],
                              .postscale = postscales[r]});
    }
    if (rng.below(2) == 0) {
      scratch[i].resize(direct_scratch_bytes(n));
      work.scratch = scratch[i];
    }
    machines.push_back(make_allreduce_from_regions(
        {.transport = &hub.at(ranks[i]), .members = &sets[i], .set = 0, .bucket = 9},
        std::move(work)));
  }

  Buffer reduce(std::size_t r) const {
    std::vector<const void*> parts;
    for (std::size_t i = 0; i < ranks.size(); ++i) parts.push_back(before[i][r].data());
    Buffer out = before[0][r];
    if (ranks.size() > 1) {
      kernels::reference::reduce_many(DType::f32, ReduceOp::sum, out.data(), parts, 0, counts[r]);
    }
    if (divisors[r] != 1 || postscales[r] != 1.0) {
      kernels::finish(DType::f32, divisors[r], postscales[r], out.data(), out.data(), counts[r]);
    }
    return out;
  }

  PlanVote strongest() const {
    return said.empty() ? PlanVote::run : *std::max_element(said.begin(), said.end());
  }
  const Buffer& output(std::size_t i, std::size_t r) const {
    return outputs[i][r] ? *outputs[i][r] : *inputs[i][r];
  }

  // Steps machines and moves messages in random order, `turns` times or until all have finished.
  bool run(std::size_t turns) {
    Rng& rng = hub.rng();
    for (std::size_t turn = 0; turn < turns; ++turn) {
      bool finished = true, moved = false;
      for (const auto& machine : machines) {
        if (rng.below(3) == 0) {
          finished = false;
          continue;
        }
        const Step step = machine->step();
        finished = finished && step == Step::finished;
      }
      for (std::uint64_t k = rng.below(12); k > 0 && hub.pump(); --k) moved = true;
      if (finished && !moved) return true;
    }
    return false;
  }

  static constexpr std::byte kMark{0x5C};
  FakeHub hub;
  const int n;
  std::vector<Rank> ranks;
  std::vector<Members> sets;
  std::vector<std::size_t> counts;
  std::vector<std::int64_t> divisors;
  std::vector<double> postscales;
  std::vector<PlanVote> said;               // empty: not planned
  std::vector<Buffer> scratch, expected;
  std::vector<std::vector<std::unique_ptr<Buffer>>> inputs, outputs;  // output null: in place
  std::vector<std::vector<Buffer>> before;
  std::vector<std::unique_ptr<CollectiveMachine>> machines;
};

class DirectRegions : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Members, DirectRegions, testing::Values(1, 2, 3, 5, 8));

TEST_P(DirectRegions, AreReducedAndFinishedWhereverTheyLie) {
  for (std::uint64_t seed = 0; seed < seeds(12); ++seed) {
    RegionsDeal deal(GetParam(), seed, false);
    SCOPED_TRACE(cat("seed ", seed));
    ASSERT_TRUE(deal.run(1'000'000));
    for (std::size_t i = 0; i < deal.ranks.size(); ++i) {
      for (std::size_t r = 0; r < deal.counts.size(); ++r) {
        ASSERT_EQ(deal.output(i, r), deal.expected[r]) << "member " << i << " region " << r;
        if (deal.outputs[i][r]) { ASSERT_EQ(*deal.inputs[i][r], deal.before[i][r]); }
      }
    }
  }
}

TEST_P(DirectRegions, AreUntouchedWhereAMemberVotesAbort) {
  for (std::uint64_t seed = 100; seed < 100 + seeds(30); ++seed) {
    RegionsDeal deal(GetParam(), seed, true);
    SCOPED_TRACE(cat("seed ", seed));
    ASSERT_TRUE(deal.run(1'000'000));
    const bool aborted = deal.strongest() == PlanVote::abort;
    for (std::size_t i = 0; i < deal.ranks.size(); ++i) {
      EXPECT_EQ(deal.machines[i]->vote(), deal.strongest());
      for (std::size_t r = 0; r < deal.counts.size(); ++r) {
        const Buffer marks(deal.before[i][r].size(), RegionsDeal::kMark);
        const Buffer& spared = deal.outputs[i][r] ? marks : deal.before[i][r];
        ASSERT_EQ(deal.output(i, r), aborted ? spared : deal.expected[r]);
      }
    }
  }
}

TEST_P(DirectRegions, MemoryIsTheCallersAfterAbandonAndTheOthersDoNotNotice) {
  for (std::uint64_t seed = 200; seed < 200 + seeds(30); ++seed) {
    RegionsDeal deal(GetParam(), seed, seed % 2 == 0);
    deal.run(deal.hub.rng().below(60));
    const std::size_t leaver = deal.hub.rng().below(deal.ranks.size());
    deal.machines[leaver]->abandon();
    // Whatever still wrote there or read from there would be seen by the address sanitiser.
    for (auto& buffer : deal.inputs[leaver]) buffer.reset();
    for (auto& buffer : deal.outputs[leaver]) buffer.reset();
    Buffer().swap(deal.scratch[leaver]);
    deal.machines.erase(deal.machines.begin() + static_cast<std::ptrdiff_t>(leaver));
    deal.run(200);
  }
}

TEST(Cut, SharesASliceAmongTheConnectionsWhereItIsLongEnough) {
  EXPECT_EQ(segment_bytes_of(512 << 10, 1), kSegmentBytes);
  EXPECT_EQ(segment_bytes_of(512 << 10, 5), 128u << 10);
  EXPECT_EQ(segment_bytes_of(512 << 10, 2), kSegmentBytes);      // only one beside the first
  EXPECT_EQ(segment_bytes_of(kSharedSliceBytes, 5), 64u << 10);
  EXPECT_EQ(segment_bytes_of(kSharedSliceBytes, 8), kSharedSegmentBytesMin);
  EXPECT_EQ(segment_bytes_of(kSharedSliceBytes - 1, 5), kSegmentBytes);
  EXPECT_EQ(segment_bytes_of(64 << 20, 5), kSegmentBytes);
  Buffer bytes(1 << 20);
  const std::vector<Region> regions = {{.in = bytes, .out = bytes}};
  for (std::size_t stripes = 1; stripes <= 8; ++stripes) {
    for (int members = 2; members <= 9; ++members) {
      const Cut cut = cut_regions(regions, 8, members, stripes);
      std::size_t total = 0;
      for (const Segment& segment : cut.all) {
        EXPECT_EQ(segment.in.size() % 8, 0u);
        total += segment.in.size();
      }
      EXPECT_EQ(total, bytes.size());
    }
  }
}

TEST(Cut, FollowsLengthsAlone) {
  Buffer a(3 * kSegmentBytes), b(64), c(kSegmentBytes);
  const std::vector<Region> regions = {{.in = a, .out = a}, {.in = b, .out = b}, {.in = c, .out = c}};
  for (int members = 1; members <= 9; ++members) {
    const Cut cut = cut_regions(regions, 4, members);
    std::size_t total = 0, least = SIZE_MAX, most = 0;
    for (int owner = 0; owner < members; ++owner) {
      std::size_t bytes = 0;
      for (const Segment& segment : cut.of(owner)) {
        EXPECT_EQ(segment.in.size(), segment.out.size());
        EXPECT_TRUE(!segment.in.empty() && segment.in.size() <= kSegmentBytes);
        bytes += segment.in.size();
      }
      total += bytes;
      least = std::min(least, bytes);
      most = std::max(most, bytes);
    }
    EXPECT_EQ(total, a.size() + b.size() + c.size());
    EXPECT_LE(most - least, 4u);
  }
}

}  // namespace
}  // namespace unisono::move
