// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Two ranks of a host whose orders have come apart: each starts another bucket of the same size.
// Covers named operations and persistent ones.
#include "engine/loop/persistent.hpp"
#include "move/local/testing/local_test_host.hpp"
#include "run/make_run.hpp"

namespace unisono::engine {
namespace {

const submit::ReleaseName kNoName = [](const Request&) {};

struct Side {
  Side(move::LocalTestHost& host, Rank rank, std::string name, Collective kind, std::size_t count,
       bool arena)
      : team(&host.team(rank)), members(Members::of({0, 1}, rank)) {
    data = arena ? reinterpret_cast<float*>(host.resident(rank, count * 4))
                 : (own.resize(count), own.data());
    std::fill_n(data, count, static_cast<float>(rank + 1));
    Request request;
    request.name = std::move(name);
    request.kind = kind;
    request.shape = {static_cast<std::int64_t>(count)};
    response.sequence = 8;
    response.tensors = {request};
    response.extents = {{}};
    if (kind == Collective::allgather) response.extents[0].assign(2, request.shape[0]);
    if (kind == Collective::alltoall) response.extents[0].assign(4, request.shape[0] / 2);
    pending.request = request;
    pending.input = data;
    if (kind == Collective::allreduce || kind == Collective::broadcast) pending.output = data;
    pending.ticket = ticket;
  }
  run::RunContext context() {
    return {.members = &members,
            .team = team,
            .buffers = &buffers,
            .options = &options,
            .next_move = &moves};
  }
  std::unique_ptr<run::BucketRun> run() {
    Bucket bucket{.id = 9, .kind = response.tensors[0].kind, .responses = {response},
                  .bytes = response.tensors[0].bytes()};
    bucket.identity = identity_of(bucket);
    std::vector<Pending> pendings;
    pendings.push_back(std::move(pending));
    auto made = run::make_run(std::move(bucket), std::move(pendings), context());
    EXPECT_TRUE(made->start().ok());
    return made;
  }
  void expect_refused(const Status& trouble, Rank rank, std::size_t count) {
    EXPECT_EQ(trouble.code(), Code::mismatch);
    EXPECT_NE(trouble.message().find(response.tensors[0].name), std::string::npos)
        << trouble.message();
    ASSERT_TRUE(ticket->done());
    EXPECT_EQ(ticket->status.code(), Code::mismatch);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(data[i], static_cast<float>(rank + 1));
  }

  move::LocalTeam* team;
  Members members;
  std::vector<float> own;
  float* data = nullptr;
  Response response;
  Pending pending;
  std::shared_ptr<TicketState> ticket = std::make_shared<TicketState>();
  run::BufferPool buffers;
  Options options;
  std::uint64_t moves = 0;
};

TEST(BucketIdentity, EqualSizedBucketsThatDoNotBelongTogetherFailOnBothRanks) {
  for (const Collective kind :
       {Collective::allreduce, Collective::allgather, Collective::broadcast,
        Collective::reducescatter, Collective::alltoall, Collective::barrier}) {
    for (const std::size_t count : {std::size_t{10}, std::size_t{40'000}}) {
      for (const bool arena : {false, true}) {
        move::LocalTestHost host(2, 1);
        Side a(host, 0, "grad.a", kind, count, arena), b(host, 1, "grad.b", kind, count, arena);
        auto first = a.run(), second = b.run();
        for (int turn = 0; turn < 20; ++turn) {
          ASSERT_NE(first->step(), move::Step::finished);
          ASSERT_NE(second->step(), move::Step::finished);
        }
        const Status trouble_a = first->trouble(), trouble_b = second->trouble();
        first->fail(trouble_a, kNoName);
        second->fail(trouble_a, kNoName);   // rank 0's word may come first, as an abort
        a.expect_refused(trouble_a, 0, count);
        b.expect_refused(trouble_b, 1, count);
        EXPECT_NE(b.ticket->status.message().find("grad.a"), std::string::npos);
        EXPECT_NE(b.ticket->status.message().find("grad.b"), std::string::npos);
      }
    }
  }
}

TEST(BucketIdentity, PersistentOperationsToo) {
  move::LocalTestHost host(2, 1);
  observe::Counters counters;
  Side a(host, 0, "grad.a", Collective::allreduce, 5000, true),
      b(host, 1, "grad.b", Collective::allreduce, 5000, false);
  const auto shared = [&](Side& side) {
    return SharedParts{
        .options = &side.options, .counters = &counters, .buffers = &side.buffers};
  };
  const SharedParts shared_a = shared(a), shared_b = shared(b);
  const auto runner = [&](Side& side, int rank, const SharedParts& parts) {
    return PersistentRunner({.index = 0,
                             .members = side.members,
                             .response = side.response,
                             .team = host.make_team(rank, 5),
                             .shared = &parts});
  };
  PersistentRunner first = runner(a, 0, shared_a), second = runner(b, 1, shared_b);
  ASSERT_TRUE(first.start(a.pending).ok() && second.start(b.pending).ok());
  for (int turn = 0; turn < 20; ++turn) first.advance(), second.advance();
  const Status trouble_a = first.trouble(), trouble_b = second.trouble();
  first.stop(trouble_a);
  second.stop(trouble_b);
  a.expect_refused(trouble_a, 0, 5000);
  b.expect_refused(trouble_b, 1, 5000);
}

}  // namespace
}  // namespace unisono::engine
