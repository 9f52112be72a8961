// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Machines over messages, on every transport: a member that has finished destroys its machine,
// writes to all of its memory and goes on to the next collective while others are still at the last
// one.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernels/kernels_reference.hpp"
#include "move/collective.hpp"
#include "move/testing/fake_transport.hpp"
#include "transport/testing/test_world.hpp"

namespace unisono::move {
namespace {

using Buffer = std::vector<std::byte>;

// Ranks in one thread, joined by a transport.
class Ranks {
 public:
  Ranks(std::string_view transport, int n, std::uint64_t seed) {
    if (transport == "fake") hub_ = std::make_unique<FakeHub>(n, seed);
    if (transport == "inproc") world_ = transport::join_threads(n);
    if (transport == "shm") world_ = transport::join_lanes(n, transport::shm_lanes);
    if (transport == "tcp") world_ = transport::join_lanes(n, transport::tcp_lanes);
  }
  transport::Transport& at(std::size_t rank) {
    return hub_ != nullptr ? hub_->at(static_cast<Rank>(rank)) : *world_[rank]->transport;
  }
  void progress(std::size_t rank) {
    if (hub_ != nullptr) hub_->pump();
    else world_[rank]->progress();
  }

 private:
  std::unique_ptr<FakeHub> hub_;
  transport::World world_;
};

constexpr std::string_view kKinds[] = {
    "ring",        "recursive_doubling", "direct",    "auto",          "halving_doubling", "tree",
    "double_tree", "rings",              "allgather", "broadcast",     "reducescatter",    "alltoall",
    "adasum",      "barrier"};

// One collective as all members know it, and what each brings and must find.
struct Collected {
  std::string_view kind;
  int root = 0;
  Extents counts;                           // bytes of each member's part
  std::vector<Buffer> inputs, wants;
};

Collected draw(int n, Rng& rng) {
  Collected c;
  c.kind = kKinds[rng.below(std::size(kKinds))];
  c.root = static_cast<int>(rng.below(static_cast<std::uint64_t>(n)));
  constexpr std::size_t kElements[] = {1, 50, 3000, 90'000};
  const std::size_t per_member = kElements[rng.below(4)];
  const auto members = static_cast<std::size_t>(n);
  const std::size_t count = per_member * members;
  c.counts.assign(members, per_member * 4);
  std::vector<const void*> pointers;
  for (int i = 0; i < n; ++i) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(rng.below(9));
    // Adasum of equal vectors is that vector.
    Buffer bytes(count * 4);
    std::memcpy(bytes.data(), values.data(), bytes.size());
    if (c.kind == "adasum" && i > 0) bytes = c.inputs[0];
    c.inputs.push_back(std::move(bytes));
  }
  for (const Buffer& input : c.inputs) pointers.push_back(input.data());
  Buffer sum(count * 4);
  kernels::reference::reduce_many(DType::f32, ReduceOp::sum, sum.data(), pointers, 0, count);
  c.wants.resize(members);
  const auto put = [&](Buffer& to, const Buffer& from, std::size_t part) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(part * per_member * 4);
    to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(per_member * 4));
  };
  for (std::size_t i = 0; i < members; ++i) {
    if (c.kind == "allgather") {
      for (std::size_t from = 0; from < members; ++from) put(c.wants[i], c.inputs[from], 0);
    } else if (c.kind == "reducescatter") {
      put(c.wants[i], sum, i);
    } else if (c.kind == "alltoall") {
      for (std::size_t from = 0; from < members; ++from) put(c.wants[i], c.inputs[from], i);
    } else if (c.kind == "broadcast") {
      c.wants[i] = c.inputs[static_cast<std::size_t>(c.root)];
    } else if (c.kind == "adasum") {
      c.wants[i] = c.inputs[0];
    } else if (c.kind != "barrier") {
      c.wants[i] = sum;
    }
  }
  if (c.kind == "allgather") {
    for (Buffer& input : c.inputs) input.resize(per_member * 4);
  }
  return c;
}

struct Holding {
  Buffer in, out;
  bool in_place = false;
};

std::unique_ptr<CollectiveMachine> make(const Collected& c, const MoveContext& context,
                                        Holding& h) {
  if (c.kind == "allgather") return make_allgather(context, h.in, c.counts, h.out);
  if (c.kind == "broadcast") return make_broadcast(context, c.root, h.in);
  if (c.kind == "reducescatter") {
    return make_reducescatter(context, DType::f32, ReduceOp::sum, h.in, c.counts, h.out);
  }
  if (c.kind == "alltoall") {
    return make_alltoall(context, {h.in, c.counts, h.out, c.counts});
  }
  if (c.kind == "barrier") return make_barrier(context);
  if (c.kind == "adasum") {
    AdasumContexts contexts{context, context, context};
    for (std::size_t i = 1; i < 3; ++i) contexts[i].bucket += i;
    return make_adasum(contexts, DType::f32, {h.in.size() / 4}, PlanVote::run, h.in);
  }
  return make_allreduce(c.kind, context, DType::f32, ReduceOp::sum, h.in);
}

class MessagesAfterCompletion : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Transports, MessagesAfterCompletion,
                         testing::Values("fake", "inproc", "shm", "tcp"),
                         [](const auto& transport) { return std::string(transport.param); });

TEST_P(MessagesAfterCompletion, MemoryIsTheCallersAgain) {
  constexpr std::size_t kOperations = 20;
  for (const int n : {2, 3, 5}) {
    Rng rng(static_cast<std::uint64_t>(n));
    Ranks ranks(GetParam(), n, static_cast<std::uint64_t>(n) + 77);
    std::vector<Collected> collectives;
    for (std::size_t k = 0; k < kOperations; ++k) collectives.push_back(draw(n, rng));
    std::vector<Rank> everyone(static_cast<std::size_t>(n));
    std::iota(everyone.begin(), everyone.end(), 0);
    std::vector<Members> members;
    for (const Rank rank : everyone) members.push_back(Members::of(everyone, rank));
    std::vector<std::vector<Holding>> holdings(static_cast<std::size_t>(n));
    for (auto& held : holdings) held.reserve(kOperations);
    std::vector<std::unique_ptr<CollectiveMachine>> machines(static_cast<std::size_t>(n));
    const auto start = [&](std::size_t i) {
      const std::size_t k = holdings[i].size();
      const Collected& c = collectives[k];
      Holding& h = holdings[i].emplace_back();
      h.in = c.inputs[i];
      h.in_place = c.kind != "allgather" && c.kind != "reducescatter" && c.kind != "alltoall";
      if (!h.in_place) h.out.resize(c.wants[i].size());
      machines[i] = make(c, {&ranks.at(i), &members[i], 0, 4 * k}, h);
    };
    for (std::size_t i = 0; i < machines.size(); ++i) start(i);
    std::size_t open = machines.size();
    for (std::uint64_t turn = 0; open > 0; ++turn) {
      ASSERT_LT(turn, 50'000'000u) << "stuck";
      const std::size_t i = rng.below(machines.size());
      ranks.progress(i);
      if (machines[i] == nullptr || machines[i]->step() != Step::finished) continue;
      machines[i].reset();
      Holding& h = holdings[i].back();
      const std::size_t k = holdings[i].size() - 1;
      const Buffer& want = collectives[k].wants[i];
      const Buffer& got = h.in_place ? h.in : h.out;
      ASSERT_TRUE(std::equal(want.begin(), want.end(), got.begin()))
          << collectives[k].kind << " on member " << i << " of " << n;
      std::fill(h.in.begin(), h.in.end(), std::byte(0xC5));
      std::fill(h.out.begin(), h.out.end(), std::byte(0xC5));
      if (k + 1 < kOperations) start(i);
      else --open;
    }
    for (const auto& held : holdings) {
      for (const Holding& h : held) {
        for (const Buffer* buffer : {&h.in, &h.out}) {
          ASSERT_TRUE(std::all_of(buffer->begin(), buffer->end(),
                                  [](std::byte b) { return b == std::byte(0xC5); }));
        }
      }
    }
  }
}

}  // namespace
}  // namespace unisono::move
