// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// When members come to one operation with different buckets, all of them fail with a message, and
// nobody's memory has been touched. Also what a member that fails leaves to the others.
#include "move/local/testing/local_test_host.hpp"

namespace unisono::move {
namespace {

enum class Kind : std::uint8_t {
  tiny, sliced, resident, adasum, allgather, broadcast, reducescatter, alltoall, barrier
};
constexpr Kind kKinds[] = {Kind::tiny, Kind::sliced, Kind::resident, Kind::adasum, Kind::allgather,
                           Kind::broadcast, Kind::reducescatter, Kind::alltoall, Kind::barrier};

Bucket bucket_named(const std::string& name) {
  Request request;
  request.name = name;
  Response response;
  response.sequence = 4;
  response.tensors = {request};
  Bucket bucket{.id = 17, .set = 2, .responses = {response}};
  bucket.identity = identity_of(bucket);
  return bucket;
}

struct Member {
  Member(LocalTestHost& host, int index, int n, std::string name)
      : team(host.team(index)),
        bucket(bucket_named(name)),
        members(
            Members::of({4, 6, 7}, std::vector<Rank>{4, 6, 7}[static_cast<std::size_t>(index)])),
        n_(static_cast<std::size_t>(n)),
        at(host.resident(index, kBytes)),
        out(kBytes * 3, std::byte(0x5a)) {
    std::fill_n(at, kBytes, std::byte(index + 1));
    in.assign(kBytes, std::byte(index + 1));
  }
  std::unique_ptr<LocalCollective> make(Kind kind, int root) {
    const LocalTurn turn(team, bucket, members);
    std::byte* data = kind == Kind::resident ? at : in.data();
    const std::size_t bytes = kind == Kind::tiny ? 400 : kBytes;
    LocalReduction work{.op = kind == Kind::adasum ? ReduceOp::adasum : ReduceOp::sum,
                        .items = {{data, data, 0, bytes}}, .bytes = bytes};
    const Extents counts(n_, kBytes / n_ / 4 * 4);
    switch (kind) {
      case Kind::adasum: return make_local_adasum(turn, std::move(work));
      case Kind::allgather:
        return make_local_allgather(turn, std::span(in).first(counts[0]), counts,
                                    std::span(out).first(counts[0] * n_));
      case Kind::broadcast: return make_local_broadcast(turn, root, in, in);
      case Kind::reducescatter:
        return make_local_reducescatter(turn, std::move(work), counts,
                                        std::span(out).first(counts[0]));
      case Kind::alltoall:
        return make_local_alltoall(turn, std::span(in).first(counts[0] * n_),
                                   std::vector<std::size_t>(n_ * n_, counts[0]),
                                   std::span(out).first(counts[0] * n_));
      case Kind::barrier: return make_local_barrier(turn);
      default: return make_local_allreduce(turn, std::move(work));
    }
  }
  bool untouched(int index) const {
    const auto all = [](const std::byte* from, std::size_t bytes, std::byte value) {
      return std::all_of(from, from + bytes, [=](std::byte b) { return b == value; });
    };
    return all(at, kBytes, std::byte(index + 1)) && all(in.data(), kBytes, std::byte(index + 1)) &&
           all(out.data(), out.size(), std::byte(0x5a));
  }

  static constexpr std::size_t kBytes = 120'000;
  LocalTeam& team;
  Bucket bucket;
  Members members;
  std::size_t n_;
  std::byte* at;
  Bytes in, out;
};

class LocalIdentity : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Members, LocalIdentity, testing::Values(2, 3));

TEST_P(LocalIdentity, DifferentBucketsFailEverywhereAndTouchNothing) {
  const int n = GetParam();
  for (const Kind first : kKinds) {
    for (const Kind second : kKinds) {
      SCOPED_TRACE(testing::Message() << "kinds " << int(first) << " and " << int(second));
      LocalTestHost host(n, 3);
      std::vector<std::unique_ptr<Member>> members;
      std::vector<std::unique_ptr<LocalCollective>> machines;
      for (int i = 0; i < n; ++i) {
        members.push_back(std::make_unique<Member>(host, i, n, i == n - 1 ? "grad.b" : "grad.a"));
        machines.push_back(
            members.back()->make(i == n - 1 ? second : first, i == n - 1 ? n - 1 : 0));
      }
      for (int round = 0; round < 400; ++round) {
        const std::size_t pick = host.rng().below(machines.size());
        // A member that agrees with the one it reads from may end; the others fail the job.
        if (machines[pick] == nullptr) continue;
        if (machines[pick]->step() == Step::finished) {
          ASSERT_TRUE(first == Kind::broadcast && pick > 0 && pick + 1 < machines.size());
          machines[pick].reset();
        }
      }
      for (std::size_t i = 0; i < machines.size(); ++i) {
        if (machines[i] == nullptr) continue;
        const Status& trouble = machines[i]->trouble();
        ASSERT_EQ(trouble.code(), Code::mismatch) << i;
        ASSERT_NE(trouble.message().find("bucket 17 of set 2"), std::string::npos)
            << trouble.message();
        ASSERT_NE(trouble.message().find(i + 1 == machines.size() ? "grad.b" : "grad.a"),
                  std::string::npos);
        ASSERT_NE(trouble.message().find(i + 1 == machines.size() ? "rank 4 came"
                                         : n == 2                 ? "rank 6 came"
                                                                  : "rank 7 came"),
                  std::string::npos)
            << trouble.message();
        EXPECT_FALSE(machines[i]->ready());
        EXPECT_FALSE(machines[i]->committed());
        machines[i]->undo();
        EXPECT_TRUE(members[i]->untouched(static_cast<int>(i)));
      }
    }
  }
}

TEST_P(LocalIdentity, TheSameBucketPassesInEveryMachine) {
  const int n = GetParam();
  for (const Kind kind : kKinds) {
    LocalTestHost host(n, 4);
    std::vector<std::unique_ptr<Member>> members;
    std::vector<std::unique_ptr<LocalCollective>> machines;
    for (int i = 0; i < n; ++i) {
      members.push_back(std::make_unique<Member>(host, i, n, "grad.a"));
      machines.push_back(members.back()->make(kind, 0));
    }
    host.run(std::move(machines));
  }
}

// After a failure, too, a tensor of the arena is the caller's again. Whoever reads it after that
// must not publish what came of it.
TEST(LocalWithdrawal, NobodyFinishesWithWhatWasWrittenAfterAFailure) {
  constexpr std::size_t kCount = 700'001;
  int never = 0;
  for (const int residents : {3, 2, 1}) {
    for (int steps = 1; steps < 14; ++steps) {
      LocalTestHost host(3, static_cast<std::uint64_t>(100 * residents + steps));
      std::vector<Bytes> inputs;
      for (int i = 0; i < 3; ++i) inputs.push_back(filled(DType::f32, kCount, host.rng()));
      const Bytes want = expected(DType::f32, ReduceOp::sum, inputs, kCount);
      std::vector<std::byte*> at;
      std::vector<std::unique_ptr<LocalCollective>> machines;
      for (int i = 0; i < 3; ++i) {
        at.push_back(i < residents ? host.resident(i, kCount * 4)
                                   : inputs[static_cast<std::size_t>(i)].data());
        std::copy(inputs[static_cast<std::size_t>(i)].begin(),
                  inputs[static_cast<std::size_t>(i)].end(), at.back());
        machines.push_back(make_local_allreduce(
            host.team(i), {.items = {{at.back(), at.back(), 0, kCount * 4}}, .bytes = kCount * 4}));
      }
      for (int turn = 0; turn < 3000; ++turn) {
        if (turn == steps && machines[0] != nullptr && !machines[0]->committed()) {
          machines[0]->undo();
          std::fill_n(at[0], kCount * 4, std::byte(0x33));
          machines[0].reset();
        }
        const std::size_t pick = host.rng().below(3);
        if (machines[pick] == nullptr || machines[pick]->step() != Step::finished) continue;
        machines[pick].reset();
        ASSERT_EQ(std::memcmp(at[pick], want.data(), want.size()), 0) << residents << " " << steps;
      }
      for (const auto& machine : machines) never += machine != nullptr ? 1 : 0;
    }
  }
  EXPECT_GT(never, 0);
}

}  // namespace
}  // namespace unisono::move
