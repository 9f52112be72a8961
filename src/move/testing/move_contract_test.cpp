// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Long because the contract of all collectives is one table of conditions.
#include <gtest/gtest.h>

#include <numeric>

#include "base/data/text.hpp"
#include "base/testing/effort.hpp"
#include "move/algorithms.hpp"
#include "move/message/segments.hpp"
#include "move/testing/fake_transport.hpp"
#include "move/testing/oracle.hpp"

namespace unisono::move {
namespace {

using Machines = std::vector<std::unique_ptr<CollectiveMachine>>;

// One process set on a hub: the context of each member.
struct Team {
  Team(FakeHub& hub, std::vector<Rank> ranks, SetId set = 0, std::uint64_t bucket = 7) {
    members.reserve(ranks.size());
    for (const Rank rank : ranks) members.push_back(Members::of(ranks, rank));
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      contexts.push_back({&hub.at(ranks[i]), &members[i], set, bucket});
    }
  }
  Team(const Team&) = delete;
  std::size_t n() const { return members.size(); }

  std::vector<Members> members;
  std::vector<MoveContext> contexts;
};

std::vector<Rank> first_ranks(int n) {
  std::vector<Rank> ranks(static_cast<std::size_t>(n));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// Steps machines and moves messages in random order until all have finished.
void run(FakeHub& hub, const Machines& machines) {
  std::vector<std::size_t> running(machines.size());
  std::iota(running.begin(), running.end(), std::size_t{0});
  int idle = 0;
  while (!running.empty() && idle < 3) {
    hub.rng().shuffle(running);
    bool moved = false;
    for (std::size_t i = 0; i < running.size();) {
      const Step step = hub.rng().below(3) == 0 && idle == 0 ? Step::advanced
                                                             : machines[running[i]]->step();
      moved = moved || step != Step::waiting;
      if (step == Step::finished) {
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    for (std::uint64_t k = 1 + hub.rng().below(12); k > 0 && hub.pump(); --k) moved = true;
    idle = moved ? 0 : idle + 1;
  }
  for (const std::size_t i : running) ADD_FAILURE() << "stuck: " << machines[i]->describe();
  for (const auto& machine : machines) EXPECT_EQ(machine->step(), Step::finished);
}

void check_allreduce(std::string_view algorithm, int n, DType dtype, ReduceOp op,
                     std::size_t count, std::uint64_t seed) {
  SCOPED_TRACE(cat("allreduce ", algorithm, " n ", n, " ", name_of(dtype), " ", name_of(op),
                   " count ", count, " seed ", seed));
  FakeHub hub(n, seed);
  Team team(hub, first_ranks(n));
  const auto parts = random_parts(team.n(), dtype, count, hub.rng());
  auto data = parts;
  Machines machines;
  for (std::size_t i = 0; i < team.n(); ++i) {
    machines.push_back(make_allreduce(algorithm, team.contexts[i], dtype, op, data[i]));
  }
  run(hub, machines);
  for (const auto& result : data) ASSERT_EQ(result, data[0]) << "ranks differ";
  const bool at_the_owner = algorithm == "direct" ||
                            (algorithm == "auto" && size_of(dtype) < 4 && n <= kDirectMembersMax);
  if (at_the_owner || !order_matters(dtype, op) || n == 1) {
    ASSERT_EQ(data[0], reduced_in_member_order(dtype, op, parts));
  } else {
    expect_rounded_once(dtype, op, parts, data[0]);
  }
}

constexpr std::string_view kAllreduces[] = {"auto",   "ring",             "recursive_doubling",
                                            "direct", "halving_doubling", "tree",
                                            "double_tree", "rings"};

// Where time is short every number of members meets a fourth of the types, and every type many of
// the numbers.
bool is_turn_of(int dtype, int members) { return !short_of_time() || (dtype + members) % 4 == 0; }

TEST(MoveContract, AllreduceForEveryAlgorithmMemberCountDTypeAndOperator) {
  std::uint64_t seed = 1000;
  for (const auto algorithm : kAllreduces) {
    for (int n = 1; n <= 17; ++n) {
      for (int dtype = 0; dtype < kDTypeCount; ++dtype) {
        if (!is_turn_of(dtype, n)) continue;
        const auto op = static_cast<ReduceOp>(seed % kElementwiseOpCount);
        for (const std::size_t count : {0u, 1u, 7u, 131u}) {
          check_allreduce(algorithm, n, static_cast<DType>(dtype), op, count, ++seed);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(MoveContract, AllreduceForEveryOperator) {
  std::uint64_t seed = 2000;
  for (const auto algorithm : kAllreduces) {
    for (int op = 0; op < kElementwiseOpCount; ++op) {
      for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::boolean}) {
        check_allreduce(algorithm, 5, dtype, static_cast<ReduceOp>(op), 100, ++seed);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// What a sum of 16-bit floats loses by rounding often: 1 + 16 * 2^-9 is lost bit by bit in bf16.
TEST(MoveContract, ManySmallAddendsAreNotLost) {
  for (const auto algorithm : kAllreduces) {
    constexpr int kMembers = 17;
    FakeHub hub(kMembers, 2900);
    Team team(hub, first_ranks(kMembers));
    std::vector<Buffer> data;
    for (int i = 0; i < kMembers; ++i) {
      const std::vector<float> values(500, i == 0 ? 1.0F : 0x1.0p-9F);
      data.emplace_back(values.size() * 2);
      kernels::cast(DType::bf16, data.back().data(), DType::f32, values.data(), values.size());
    }
    Machines machines;
    for (std::size_t i = 0; i < team.n(); ++i) {
      machines.push_back(
          make_allreduce(algorithm, team.contexts[i], DType::bf16, ReduceOp::sum, data[i]));
    }
    run(hub, machines);
    for (const double sum : as_doubles(DType::bf16, data[0])) {
      ASSERT_EQ(sum, 1.0 + 16 * 0x1.0p-9) << algorithm;
    }
  }
}

TEST(MoveContract, AllreduceLongerThanManySegments) {
  std::uint64_t seed = 3000;
  for (const auto algorithm : kAllreduces) {
    check_allreduce(algorithm, 2, DType::f32, ReduceOp::sum, 800'003, ++seed);
    check_allreduce(algorithm, 3, DType::f16, ReduceOp::sum, 700'001, ++seed);
    check_allreduce(algorithm, 3, DType::i64, ReduceOp::sum, 500'000, ++seed);
    if (!short_of_time()) check_allreduce(algorithm, 9, DType::f32, ReduceOp::sum, 600'005, ++seed);
    check_allreduce(algorithm, 11, DType::bf16, ReduceOp::sum, 300'001, ++seed);
    check_allreduce(algorithm, 5, DType::u8, ReduceOp::max, 5 * 262'144 + 1, ++seed);
    if (HasFatalFailure()) return;
  }
}

// Sizes around segments and slots, for which make test has no time.
class AllreduceSizes : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Algorithms, AllreduceSizes, testing::ValuesIn(kAllreduces),
                         [](const auto& algorithm) { return std::string(algorithm.param); });

TEST_P(AllreduceSizes, ForEveryMemberCountAndDType) {
  if (!has_time()) GTEST_SKIP() << "only with UNISONO_SEED_FACTOR set, as make test-long does";
  std::uint64_t seed = 3500;
  for (int n = 1; n <= 17; ++n) {
    for (int dtype = 0; dtype < kDTypeCount; ++dtype) {
      const auto element = static_cast<DType>(dtype);
      const std::size_t segment = kSegmentBytes / size_of(element);
      for (const std::size_t count : {segment - 1, segment + 1, 3 * segment + 3}) {
        const auto op = static_cast<ReduceOp>(seed % kElementwiseOpCount);
        check_allreduce(GetParam(), n, element, op, count, ++seed);
        if (HasFatalFailure()) return;
      }
    }
  }
}

Extents ragged(std::size_t n, std::size_t width, std::size_t scale, Rng& rng) {
  Extents counts;
  for (std::size_t i = 0; i < n; ++i) {
    counts.push_back(rng.below(3) == 0 ? 0 : width * rng.below(scale + 1));
  }
  return counts;
}

std::size_t total_of(const Extents& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

Buffer random_bytes(std::size_t size, Rng& rng) {
  Buffer out(size);
  for (auto& byte : out) byte = static_cast<std::byte>(rng());
  return out;
}

void check_allgather(int n, std::size_t scale, std::uint64_t seed) {
  SCOPED_TRACE(cat("allgather n ", n, " scale ", scale, " seed ", seed));
  FakeHub hub(n, seed);
  Team team(hub, first_ranks(n));
  const Extents counts = ragged(team.n(), 1, scale, hub.rng());
  std::vector<Buffer> mine, out(team.n(), Buffer(total_of(counts)));
  Buffer expected;
  for (const std::size_t count : counts) {
    mine.push_back(random_bytes(count, hub.rng()));
    expected.insert(expected.end(), mine.back().begin(), mine.back().end());
  }
  Machines machines;
  for (std::size_t i = 0; i < team.n(); ++i) {
    machines.push_back(make_allgather(team.contexts[i], mine[i], counts, out[i]));
  }
  run(hub, machines);
  for (const auto& result : out) ASSERT_EQ(result, expected);
}

TEST(MoveContract, AllgatherRaggedForEveryMemberCount) {
  std::uint64_t seed = 4000;
  for (int n = 1; n <= 17; ++n) {
    for (const std::size_t scale : {0u, 1u, 1000u, 40'000u}) check_allgather(n, scale, ++seed);
  }
  check_allgather(3, 3'000'000, ++seed);
  check_allgather(9, 1'000'000, ++seed);
}

void check_broadcast(int n, int root, std::size_t size, std::uint64_t seed) {
  SCOPED_TRACE(cat("broadcast n ", n, " root ", root, " size ", size, " seed ", seed));
  FakeHub hub(n, seed);
  Team team(hub, first_ranks(n));
  std::vector<Buffer> data;
  for (int i = 0; i < n; ++i) data.push_back(random_bytes(size, hub.rng()));
  const Buffer expected = data[static_cast<std::size_t>(root)];
  Machines machines;
  for (std::size_t i = 0; i < team.n(); ++i) {
    machines.push_back(make_broadcast(team.contexts[i], root, data[i]));
  }
  run(hub, machines);
  for (const auto& result : data) ASSERT_EQ(result, expected);
}

TEST(MoveContract, BroadcastFromEveryRoot) {
  std::uint64_t seed = 5000;
  for (int n = 1; n <= 17; ++n) {
    for (int root = 0; root < n; ++root) {
      for (const std::size_t size : {0u, 1u, 999u}) check_broadcast(n, root, size, ++seed);
    }
  }
  check_broadcast(5, 3, 9 * 262'144 + 5, ++seed);
}

using MakeReducescatter = decltype(&make_reducescatter_ring);

void check_reducescatter(MakeReducescatter make, int n, DType dtype, ReduceOp op,
                         std::size_t scale, std::uint64_t seed) {
  SCOPED_TRACE(cat("reducescatter n ", n, " ", name_of(dtype), " ", name_of(op), " scale ", scale,
                   " seed ", seed));
  FakeHub hub(n, seed);
  Team team(hub, first_ranks(n));
  const Extents counts = ragged(team.n(), size_of(dtype), scale, hub.rng());
  const auto parts = random_parts(team.n(), dtype, total_of(counts) / size_of(dtype), hub.rng());
  std::vector<Buffer> out;
  for (const std::size_t count : counts) out.emplace_back(count);
  Machines machines;
  for (std::size_t i = 0; i < team.n(); ++i) {
    machines.push_back(make(team.contexts[i], dtype, op, parts[i], counts, out[i]));
  }
  run(hub, machines);
  Buffer all;
  for (const auto& part : out) all.insert(all.end(), part.begin(), part.end());
  if (make == make_reducescatter_direct || !order_matters(dtype, op) || n == 1) {
    ASSERT_EQ(all, reduced_in_member_order(dtype, op, parts));
  } else {
    expect_rounded_once(dtype, op, parts, all);
  }
}

TEST(MoveContract, ReduceScatterRaggedByEveryAlgorithm) {
  std::uint64_t seed = 6000;
  for (const auto make :
       {make_reducescatter_direct, make_reducescatter_halving, make_reducescatter_ring}) {
    for (int n = 1; n <= 17; ++n) {
      for (int dtype = 0; dtype < kDTypeCount; ++dtype) {
        if (!is_turn_of(dtype, n)) continue;
        for (const std::size_t scale : {0u, 1u, 50u}) {
          const auto op = static_cast<ReduceOp>(seed % kElementwiseOpCount);
          check_reducescatter(make, n, static_cast<DType>(dtype), op, scale, ++seed);
          if (HasFatalFailure()) return;
        }
      }
    }
    check_reducescatter(make, 4, DType::f32, ReduceOp::sum, 900'000, ++seed);
    check_reducescatter(make, 6, DType::bf16, ReduceOp::sum, 700'000, ++seed);
    if (HasFatalFailure()) return;
  }
}

TEST(MoveContract, ReduceScatterOfManyMembersGoesFromMemberToMember) {
  for (const std::size_t each : {std::size_t{4}, std::size_t{64} << 10}) {
    FakeHub hub(9, 6900);
    Team team(hub, first_ranks(9));
    Buffer data(9 * each), out(each);
    const auto machine = make_reducescatter(team.contexts[0], DType::f32, ReduceOp::sum, data,
                                            Extents(9, each), out);
    const std::string_view name = each > 4 ? "reducescatter/ring" : "reducescatter/halving";
    EXPECT_TRUE(machine->describe().starts_with(name)) << machine->describe();
  }
}

void check_alltoall(int n, std::size_t scale, std::uint64_t seed) {
  SCOPED_TRACE(cat("alltoall n ", n, " scale ", scale, " seed ", seed));
  FakeHub hub(n, seed);
  Team team(hub, first_ranks(n));
  std::vector<Extents> send;
  std::vector<Buffer> in, out, expected(team.n());
  for (std::size_t i = 0; i < team.n(); ++i) {
    send.push_back(ragged(team.n(), 1, scale, hub.rng()));
    in.push_back(random_bytes(total_of(send[i]), hub.rng()));
    auto from = in[i].begin();
    for (std::size_t j = 0; j < team.n(); ++j) {
      const auto end = from + static_cast<std::ptrdiff_t>(send[i][j]);
      expected[j].insert(expected[j].end(), from, end);
      from = end;
    }
  }
  Machines machines;
  for (std::size_t i = 0; i < team.n(); ++i) out.emplace_back(expected[i].size());
  for (std::size_t i = 0; i < team.n(); ++i) {
    Extents receive;
    for (const auto& counts : send) receive.push_back(counts[i]);
    machines.push_back(make_alltoall(team.contexts[i], {in[i], send[i], out[i], receive}));
  }
  run(hub, machines);
  EXPECT_EQ(out, expected);
}

TEST(MoveContract, AlltoallRagged) {
  std::uint64_t seed = 7000;
  for (int n = 1; n <= 17; ++n) {
    for (const std::size_t scale : {0u, 1u, 500u}) check_alltoall(n, scale, ++seed);
  }
  check_alltoall(3, 2'000'000, ++seed);
}

TEST(MoveContract, BarrierHoldsUntilTheLastMemberArrives) {
  std::vector<int> sizes(17);
  std::iota(sizes.begin(), sizes.end(), 1);
  for (const int many : {32, 33, 34, 50, 273, 300}) sizes.push_back(many);
  for (const int n : sizes) {
    SCOPED_TRACE(cat("barrier n ", n));
    FakeHub hub(n, 8000 + static_cast<std::uint64_t>(n));
    Team team(hub, first_ranks(n));
    Machines machines;
    for (const auto& context : team.contexts) machines.push_back(make_barrier(context));
    for (int turn = 0; turn < 200; ++turn) {
      for (std::size_t i = 0; i + 1 < team.n(); ++i) EXPECT_NE(machines[i]->step(), Step::finished);
      hub.pump();
    }
    run(hub, machines);
  }
}

TEST(MoveContract, MachinesOfDifferentSetsAndBucketsInterleave) {
  FakeHub hub(6, 9000);
  Team world(hub, first_ranks(6), 0, 1), next(hub, first_ranks(6), 0, 2);
  Team subset(hub, {1, 3, 4}, 5, 1);
  std::vector<std::vector<Buffer>> parts, data;
  Machines machines;
  const std::string_view names[] = {"ring", "direct", "recursive_doubling"};
  const Team* teams[] = {&world, &next, &subset};
  for (const Team* team : teams) {
    parts.push_back(random_parts(team->n(), DType::i32, 1001, hub.rng()));
  }
  data = parts;
  for (std::size_t t = 0; t < 3; ++t) {
    for (std::size_t i = 0; i < teams[t]->n(); ++i) {
      machines.push_back(make_allreduce(names[t], teams[t]->contexts[i], DType::i32, ReduceOp::sum,
                                        data[t][i]));
    }
  }
  run(hub, machines);
  for (std::size_t t = 0; t < 3; ++t) {
    const Buffer expected = reduced_in_member_order(DType::i32, ReduceOp::sum, parts[t]);
    for (const auto& result : data[t]) EXPECT_EQ(result, expected) << names[t];
  }
}

TEST(MoveContract, DirectAllreduceDoesNotDependOnFusion) {
  // The same tensor alone, and behind 777 other elements in one bucket.
  Rng rng(9100);
  const std::size_t n = 5, count = 999, before = 777;
  const auto parts = random_parts(n, DType::f32, count, rng);
  const auto others = random_parts(n, DType::f32, before, rng);
  auto alone = parts;
  std::vector<Buffer> fused;
  for (std::size_t i = 0; i < n; ++i) {
    fused.push_back(others[i]);
    fused[i].insert(fused[i].end(), parts[i].begin(), parts[i].end());
  }
  for (auto* data : {&alone, &fused}) {
    FakeHub hub(static_cast<int>(n), 9200);
    Team team(hub, first_ranks(static_cast<int>(n)));
    Machines machines;
    for (std::size_t i = 0; i < n; ++i) {
      machines.push_back(
          make_allreduce("direct", team.contexts[i], DType::f32, ReduceOp::sum, (*data)[i]));
    }
    run(hub, machines);
  }
  const Buffer tail(fused[0].begin() + before * 4, fused[0].end());
  EXPECT_EQ(alone[0], tail);
}

TEST(MoveContract, NanIsTheSameOnAllRanks) {
  for (const auto algorithm : kAllreduces) {
    for (int n = 2; n <= 9; ++n) {
      FakeHub hub(n, 9300);
      Team team(hub, first_ranks(n));
      std::vector<std::vector<std::uint32_t>> data;
      for (int i = 0; i < n; ++i) {
        data.emplace_back(std::size_t{41}, 0x7FC00001u + static_cast<std::uint32_t>(i));
      }
      Machines machines;
      for (std::size_t i = 0; i < team.n(); ++i) {
        machines.push_back(make_allreduce(algorithm, team.contexts[i], DType::f32, ReduceOp::sum,
                                          std::as_writable_bytes(std::span(data[i]))));
      }
      run(hub, machines);
      for (const auto& result : data) EXPECT_EQ(result, data[0]) << algorithm << " n " << n;
    }
  }
}

TEST(MoveContract, FailedTransferWaitsForEverAndSaysSo) {
  for (const auto algorithm : kAllreduces) {
    FakeHub hub(3, 9400);
    Team team(hub, {0, 1, 2});
    std::vector<Buffer> data(3, Buffer(400));
    Machines machines;
    for (std::size_t i = 0; i < 3; ++i) {
      machines.push_back(
          make_allreduce(algorithm, team.contexts[i], DType::f32, ReduceOp::sum, data[i]));
    }
    hub.lose(2);
    machines[0]->step();
    machines[1]->step();
    while (hub.pump()) {}
    for (int turn = 0; turn < 5; ++turn) {
      for (std::size_t i = 0; i < 2; ++i) machines[i]->step();
      while (hub.pump()) {}
    }
    EXPECT_EQ(machines[0]->step(), Step::waiting);
    EXPECT_EQ(machines[1]->step(), Step::waiting);
    EXPECT_NE(machines[1]->describe().find("waits"), std::string::npos)
        << machines[1]->describe();
  }
}

// Equal tags and sizes, but one member means another bucket: nobody may come to a result.
TEST(MoveContract, AnotherIdentityIsNeverSummed) {
  const auto make = [](std::string_view what, const MoveContext& context, Buffer& data,
                       Buffer& out) -> std::unique_ptr<CollectiveMachine> {
    const auto n = static_cast<std::size_t>(context.n());
    if (what == "allgather") return make_allgather(context, data, Extents(n, data.size()), out);
    if (what == "alltoall") {
      const Extents parts(n, data.size() / n);
      return make_alltoall(context, {data, parts, std::span(out).first(data.size()), parts});
    }
    if (what == "reducescatter") {
      return make_reducescatter(context, DType::f32, ReduceOp::sum, data,
                                Extents(n, data.size() / n), std::span(out).first(data.size() / n));
    }
    return make_allreduce(what, context, DType::f32, ReduceOp::sum, data);
  };
  for (const std::string_view what :
       {"ring", "rings", "recursive_doubling", "direct", "allgather", "alltoall", "reducescatter"}) {
    for (const int n : {2, 3, 4}) {
      FakeHub hub(n, 9450);
      Team team(hub, first_ranks(n));
      for (MoveContext& context : team.contexts) context.identity = 0xabc;
      team.contexts[1].identity = 0xdef;
      std::vector<Buffer> data(team.n(), Buffer(4800)), out(team.n(), Buffer(4800 * team.n()));
      Machines machines;
      for (std::size_t i = 0; i < team.n(); ++i) {
        machines.push_back(make(what, team.contexts[i], data[i], out[i]));
      }
      for (int turn = 0; turn < 50; ++turn) {
        for (auto& machine : machines) machine->step();
        while (hub.pump()) {}
      }
      EXPECT_GT(hub.disagreements(), 0u) << what;
      for (auto& machine : machines)
        EXPECT_EQ(machine->step(), Step::waiting) << what << " n " << n;
    }
  }
}

TEST(MoveContract, DescribeNamesTheRankThatIsWaitedFor) {
  FakeHub hub(6, 9500);
  Team team(hub, {1, 3, 4}, 2, 9);
  std::vector<Buffer> data(3, Buffer(4000));
  auto machine = make_allreduce("direct", team.contexts[0], DType::f32, ReduceOp::sum, data[0]);
  machine->step();
  const std::string text = machine->describe();
  EXPECT_NE(text.find("allreduce/direct, set 2, bucket 9"), std::string::npos) << text;
  EXPECT_NE(text.find("waits for data from ranks 3, 4"), std::string::npos) << text;
}

TEST(MoveContract, ShortFloatsOfManyMembersTakeTheWaysOfLongOnes) {
  const auto chosen = [](int n, DType dtype, std::size_t bytes) {
    FakeHub hub(n, 9550);
    Team team(hub, first_ranks(n));
    Buffer data(bytes);
    const auto text =
        make_allreduce("auto", team.contexts[0], dtype, ReduceOp::sum, data)->describe();
    return text.substr(0, text.find(','));
  };
  for (const DType dtype : {DType::f16, DType::bf16, DType::f8e4m3}) {
    EXPECT_EQ(chosen(8, dtype, 64), "allreduce/direct");
    EXPECT_EQ(chosen(8, dtype, 1 << 20), "allreduce/direct");
    EXPECT_EQ(chosen(9, dtype, 64), "allreduce/recursive_doubling");
    EXPECT_EQ(chosen(9, dtype, 128 << 10), "allreduce/halving_doubling");
    EXPECT_EQ(chosen(9, dtype, 1 << 20), "allreduce/ring");
  }
}

TEST(MoveContract, SmallMessagesStaySmallInNumber) {
  FakeHub hub(4, 9600);
  Team team(hub, first_ranks(4));
  std::vector<Buffer> data(4, Buffer(64));
  Machines machines;
  for (std::size_t i = 0; i < 4; ++i) {
    machines.push_back(
        make_allreduce("auto", team.contexts[i], DType::f32, ReduceOp::sum, data[i]));
  }
  run(hub, machines);
  EXPECT_EQ(hub.messages(), 4u * 2u);
}

TEST(Algorithms, TableNamesWhatMakeAccepts) {
  for (const auto& row : algorithm_table()) {
    EXPECT_EQ(algorithm_known(row.kind, row.name), row.by == MovesBy::messages);
    EXPECT_FALSE(row.about.empty());
  }
  EXPECT_TRUE(algorithm_known(Collective::allreduce, "auto"));
  EXPECT_FALSE(algorithm_known(Collective::allreduce, "pairwise"));
  EXPECT_FALSE(algorithm_known(Collective::allreduce, "sliced"));
  EXPECT_FALSE(algorithm_known(Collective::broadcast, "ring"));
}

}  // namespace
}  // namespace unisono::move
