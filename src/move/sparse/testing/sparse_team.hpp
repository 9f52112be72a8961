// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Test support: members in one thread that run a sparse collective, with the supports that tests
// ask for, and what must come out.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "base/data/text.hpp"
#include "move/sparse/sparse.hpp"
#include "move/testing/fake_transport.hpp"
#include "move/testing/oracle.hpp"

namespace unisono::move {

// Which indices members have.
enum class Supports : std::uint8_t { empty, one, unequal, identical, disjoint, skewed, full };
inline constexpr Supports kAllSupports[] = {Supports::empty,     Supports::one,
                                            Supports::unequal,   Supports::identical,
                                            Supports::disjoint,  Supports::skewed,
                                            Supports::full};

inline std::vector<std::uint64_t> indices_of(Supports kind, std::uint64_t length,
                                             std::size_t member, std::size_t members,
                                             unsigned percent, Rng& rng) {
  std::set<std::uint64_t> out;
  const auto some = [&](std::uint64_t wanted, std::uint64_t below) {
    for (std::uint64_t i = 0; i < wanted && below > 0; ++i) out.insert(rng.below(below));
  };
  switch (kind) {
    case Supports::empty: break;
    case Supports::one:
      if (length > 0 && member % 2 == 0) out.insert(rng.below(length));
      break;
    case Supports::unequal: some(rng.below(length * percent / 50 + 1), length); break;
    case Supports::identical: {
      Rng alike(percent);
      for (std::uint64_t i = 0; i < length; ++i) {
        if (alike.below(100) < percent) out.insert(i);
      }
      break;
    }
    case Supports::disjoint:
      for (std::uint64_t i = member; i < length; i += members) {
        if (rng.below(100) < percent) out.insert(i);
      }
      break;
    case Supports::skewed: some(length * percent / 100, (length + 7) / 8); break;
    case Supports::full:
      for (std::uint64_t i = 0; i < length; ++i) out.insert(i);
      break;
  }
  return {out.begin(), out.end()};
}

inline stream::Stream stream_of(DType dtype, std::uint64_t length,
                                const std::vector<std::uint64_t>& indices, Rng& rng) {
  const Buffer values = random_values(dtype, indices.size(), rng);
  auto made = stream::Stream::from_pairs(dtype, length, indices, values.data());
  return std::move(made).value();
}

inline Buffer densified(stream::Stream stream, const kernels::Operator& op) {
  stream.densify(op);
  const auto values = stream.values();
  return {values.begin(), values.end()};
}

struct SparseTeam {
  SparseTeam(int n, std::uint64_t seed) : hub(n, seed), out(static_cast<std::size_t>(n)) {
    std::vector<Rank> ranks(out.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    for (const Rank rank : ranks) members.push_back(Members::of(ranks, rank));
  }
  std::size_t n() const { return members.size(); }
  MoveContext context(std::size_t i) {
    return {.transport = &hub.at(static_cast<Rank>(i)), .members = &members[i], .set = 0,
            .bucket = 7, .identity = 55};
  }
  void fill(DType dtype, std::uint64_t length, Supports kind, unsigned percent) {
    in.clear();
    for (std::size_t i = 0; i < n(); ++i) {
      in.push_back(stream_of(dtype, length, indices_of(kind, length, i, n(), percent, hub.rng()),
                             hub.rng()));
    }
  }
  // Runs an algorithm, or the allgather, with this work and the members' streams.
  void run(std::string_view algorithm, const SparseWork& work) {
    start(algorithm, work);
    finish();
    for (const auto& machine : machines) {
      ASSERT_TRUE(machine->trouble().ok()) << machine->trouble().to_string();
    }
  }
  void start(std::string_view algorithm, SparseWork work) {
    machines.clear();
    for (std::size_t i = 0; i < n(); ++i) {
      work.mine = in[i].view();
      machines.push_back(algorithm == "sparse_allgather"
                             ? make_sparse_allgather(context(i), work, out[i])
                             : make_sparse_allreduce(algorithm, context(i), work, out[i]));
    }
  }
  // Steps machines and moves messages in random order until all have finished.
  void finish(bool may_fail = false) {
    std::vector<std::size_t> running(machines.size());
    std::iota(running.begin(), running.end(), std::size_t{0});
    for (int idle = 0; !running.empty() && idle < 3;) {
      hub.rng().shuffle(running);
      bool moved = false;
      std::erase_if(running, [&](std::size_t i) {
        if (idle == 0 && hub.rng().below(3) == 0) return false;
        const Step step = machines[i]->step();
        moved = moved || step != Step::waiting;
        return step == Step::finished;
      });
      for (std::uint64_t k = 1 + hub.rng().below(12); k > 0 && hub.pump(); --k) moved = true;
      idle = moved ? 0 : idle + 1;
    }
    if (may_fail) return;
    for (const std::size_t i : running) {
      ADD_FAILURE() << "stuck: " << machines[i]->describe() << " "
                    << machines[i]->trouble().to_string();
    }
  }
  void expect_members_agree() const {
    for (const auto& result : out) ASSERT_TRUE(stream::same(result, out[0])) << "members differ";
  }
  std::vector<Buffer> dense_parts(const kernels::Operator& op) const {
    std::vector<Buffer> parts;
    for (const auto& stream : in) parts.push_back(densified(stream, op));
    return parts;
  }
  std::set<std::uint64_t> united() const {
    std::set<std::uint64_t> all;
    for (const auto& stream : in) {
      for (std::size_t i = 0; i < stream.nnz(); ++i) all.insert(stream.index(i));
    }
    return all;
  }

  FakeHub hub;
  std::vector<Members> members;
  std::vector<stream::Stream> in, out;
  std::vector<std::unique_ptr<CollectiveMachine>> machines;
};

// An algorithm of ours against the sum in member order: exact where it keeps that order or order
// does not matter, else rounded once.
inline void expect_reduced(const SparseTeam& team, const SparseWork& work, bool in_member_order) {
  const auto parts = team.dense_parts(work.op);
  const Buffer result = densified(team.out[0], work.op);
  if (in_member_order || !order_matters(work.dtype, work.op.op) || team.n() == 1) {
    ASSERT_EQ(result, reduced_in_member_order(work.dtype, work.op.op, parts));
  } else {
    expect_rounded_once(work.dtype, work.op.op, parts, result);
  }
  if (team.out[0].dense()) return;
  const auto all = team.united();
  ASSERT_EQ(team.out[0].nnz(), all.size());
  std::size_t i = 0;
  for (const std::uint64_t index : all) ASSERT_EQ(team.out[0].index(i++), index);
}

}  // namespace unisono::move
