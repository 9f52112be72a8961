// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What every ordering strategy promises over many steps in which things change: shapes on one rank
// and on all, eviction under pressure, joins in the middle, mismatches, rows that differ.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "order/testing/contract.hpp"

namespace unisono::order {
namespace {

class OrderSoakContract : public OrderContract {
 protected:
  // Every member submits its parcels in an order of its own while messages fly.
  static void run_step(VirtualNet& n, Rng& rng,
                       std::vector<std::vector<std::vector<Request>>> todo) {
    for (auto& list : todo) rng.shuffle(list);
    for (bool left = true; left;) {
      left = false;
      for (std::size_t i = 0; i < todo.size(); ++i) {
        if (todo[i].empty()) continue;
        left = true;
        if (rng.below(3) == 0) continue;
        n.submit(static_cast<int>(i), todo[i].back());
        todo[i].pop_back();
        n.shake(static_cast<int>(rng.below(3)));
      }
    }
    n.settle();
  }
  static void expect_idle(VirtualNet& n) {
    for (int i = 0; i < n.size(); ++i) {
      EXPECT_EQ(n.at(i).waiting(), 0u) << "member " << i;
      if (!paced()) {
        EXPECT_EQ(n.at(i).deadline(), kNever) << "member " << i;
      }
    }
  }
};

Request random_request(Rng& rng, std::uint64_t t, int members) {
  Request request = tensor_request(cat("layer", t, "/a/name/of/some/length"),
                                   {static_cast<std::int64_t>(1 + t)});
  switch (rng.below(8)) {
    case 0: request.kind = Collective::broadcast; request.root = VirtualNet::rank(0); break;
    case 1: request.kind = Collective::reducescatter; break;
    case 2: request.kind = Collective::barrier; break;
    case 3:
      request.kind = Collective::alltoall;
      request.uneven = rng.below(2) == 0;
      request.shape = {members};
      break;
    case 4: request.kind = Collective::allgather; break;
    default: break;
  }
  return request;
}

TEST_P(OrderSoakContract, ChangingStepsGiveOneLogAndTheExpectedOutcomes) {
  for (std::uint64_t seed = 0; seed < seeds(100); ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Rng rng(seed * 31 + 7);
    const int members = 1 + static_cast<int>(rng.below(17));
    OrderSettings settings;
    settings.tree_radix = kRadices[rng.below(kRadices.size())];
    settings.cache_capacity = rng.below(3) == 0 ? 4 : 64;
    VirtualNet n = net(members, seed, settings);
    const auto tensors = 1 + rng.below(12);
    std::vector<std::vector<Request>> parcels;
    for (std::uint64_t t = 0; t < tensors; ++t) {
      if (rng.below(4) == 0) {
        parcels.push_back(group_request(cat("g", t), {cat("ga", t), cat("gb", t), cat("gc", t)}));
      } else {
        parcels.push_back({random_request(rng, t, members)});
      }
      for (Request& r : parcels.back()) r.priority = static_cast<std::int32_t>(rng.below(2));
    }
    std::size_t seen = 0;
    for (int step = 0; step < 8; ++step) {
      if (rng.below(3) == 0) {          // on all
        auto& parcel = parcels[rng.below(tensors)];
        if (parcel[0].kind != Collective::alltoall) parcel[0].shape.push_back(2 + step);
      }
      std::vector<std::vector<std::vector<Request>>> todo(static_cast<std::size_t>(members),
                                                          parcels);
      std::string broken;
      if (members > 1 && rng.below(3) == 0) {  // on one
        auto& parcel = todo[rng.below(todo.size())][rng.below(tensors)];
        if (parcel[0].kind != Collective::barrier) {
          parcel[0].dtype = DType::i64;
          broken = parcel[0].name;
        }
      }
      for (auto& list : todo) {         // rows and priorities may differ
        for (auto& parcel : list) {
          if (parcel[0].kind == Collective::allgather) {
            parcel[0].shape[0] = &list - todo.data();
          } else if (seed % 2 == 0 && rng.below(10) == 0) {
            parcel[0].priority = 7;
          }
        }
        for (auto& parcel : list) rng.shuffle(parcel);
      }
      run_step(n, rng, std::move(todo));
      expect_same_logs(n);
      expect_idle(n);
      const auto all = n.flat(0);
      std::size_t count = 0;
      for (std::size_t i = std::exchange(seen, all.size()); i < all.size(); ++i) {
        count += parcel_count(all[i]);
        bool hit = false;
        for (const Request& r : all[i].tensors) hit |= r.name == broken;
        EXPECT_EQ(all[i].error.code(), hit ? Code::mismatch : Code::ok)
            << all[i].error.to_string();
      }
      EXPECT_EQ(count, tensors);
      if (HasFailure()) return;
    }
  }
}

TEST_P(OrderSoakContract, EvictionUnderPressureLosesNothing) {
  for (const int radix : kRadices) {
    for (std::uint64_t seed = 0; seed < seeds(3); ++seed) {
      SCOPED_TRACE(cat("radix ", radix, ", seed ", seed));
      OrderSettings settings;
      settings.tree_radix = radix;
      settings.cache_capacity = 4;
      VirtualNet n = net(7, seed, settings);
      Rng rng(seed);
      for (int step = 0; step < 6; ++step) {
        // Some names come back at once, so that bits and evictions cross.
        for (const std::uint64_t names : {100, 6, 4}) {
          std::vector<std::vector<Request>> parcels;
          for (std::uint64_t t = 0; t < names; ++t) {
            parcels.push_back({tensor_request(cat("t", t))});
          }
          run_step(n, rng, {7, parcels});
        }
      }
      expect_same_logs(n);
      expect_idle(n);
      EXPECT_EQ(parcel_count(n.flat(3)), 6u * 110u);
      for (const Response& r : n.flat(3)) EXPECT_TRUE(r.error.ok());
    }
  }
}

TEST_P(OrderSoakContract, JoinsInTheMiddleOfRepeatedSteps) {
  for (std::uint64_t seed = 0; seed < seeds(60); ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Rng rng(seed);
    const int members = 2 + static_cast<int>(rng.below(12));
    OrderSettings settings;
    settings.tree_radix = kRadices[rng.below(kRadices.size())];
    VirtualNet n = net(members, seed, settings);
    std::vector<std::uint64_t> steps;   // how many each member has data for
    for (int i = 0; i < members; ++i) steps.push_back(1 + rng.below(6));
    const std::uint64_t most = *std::max_element(steps.begin(), steps.end());
    constexpr std::size_t kTensors = 5, kEpochs = 2;
    for (std::size_t epoch = 0; epoch < kEpochs; ++epoch) {
      std::vector<std::uint64_t> begun(steps.size(), 0);
      std::vector<bool> joined(steps.size(), false);
      for (bool busy = true; busy;) {
        busy = false;
        for (std::size_t i = 0; i < steps.size(); ++i) {
          if (joined[i]) continue;
          busy = true;
          const int member = static_cast<int>(i);
          if (n.idle(member) && begun[i] < steps[i]) {
            for (std::size_t t = 0; t < kTensors; ++t) {
              n.submit(member, tensor_request(cat("t", t)));
            }
            ++begun[i];
          } else if (begun[i] == steps[i]) {
            // Some join while their last step is still under way.
            n.submit(member, kind_request("join", Collective::join));
            joined[i] = true;
          }
          n.shake(static_cast<int>(rng.below(12)));
          n.advance(n.cycle / 4);
        }
      }
      n.settle();
    }
    expect_same_logs(n);
    expect_idle(n);
    const auto all = n.flat(0);
    std::vector<std::uint64_t> runs(steps.size(), 0);
    std::size_t ran = 0, joins = 0;
    for (const Response& r : all) {
      EXPECT_TRUE(r.error.ok()) << r.error.to_string();
      if (r.tensors[0].kind == Collective::join) {
        ++joins;
        continue;
      }
      ran += r.tensors.size();
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const bool absent = std::find(r.absent.begin(), r.absent.end(), i) != r.absent.end();
        runs[i] += absent ? 0 : r.tensors.size();
      }
    }
    EXPECT_EQ(joins, kEpochs);
    EXPECT_EQ(ran, kEpochs * most * kTensors);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      EXPECT_EQ(runs[i], kEpochs * steps[i] * kTensors) << "member " << i;
    }
  }
}

TEST_P(OrderSoakContract, AMemberThatLeavesInTheMiddleFailsWhatNeedsItOnAllOthers) {
  for (std::uint64_t seed = 0; seed < seeds(60); ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Rng rng(seed);
    const int members = 3 + static_cast<int>(rng.below(8));
    const int gone = 1 + static_cast<int>(rng.below(static_cast<std::uint64_t>(members - 1)));
    OrderSettings settings;
    settings.tree_radix = 16;           // so that the leaver has nobody below it
    VirtualNet n = net(members, seed, settings);
    std::vector<std::vector<Request>> parcels;
    for (std::uint64_t t = 0; t < 4; ++t) parcels.push_back({tensor_request(cat("t", t))});
    const auto steps = 1 + rng.below(8);
    for (std::uint64_t step = 0; step < steps; ++step) {
      run_step(n, rng, {static_cast<std::size_t>(members), parcels});
    }
    const std::size_t before = n.flat(0).size();
    for (int i = 0; i < members; ++i) {
      if (i == gone) continue;
      for (const auto& parcel : parcels) n.submit(i, parcel);
      n.shake(static_cast<int>(rng.below(6)));
      if (i == gone / 2) n.leave(gone);
    }
    n.settle();
    EXPECT_TRUE(n.faults.empty()) << n.faults.front().to_string();
    for (int i = 0; i < members; ++i) {
      if (i == gone) continue;
      EXPECT_EQ(n.at(i).waiting(), 0u) << "member " << i;
      const auto all = n.flat(i);
      std::size_t failed = 0;
      for (std::size_t k = before; k < all.size(); ++k) {
        EXPECT_EQ(all[k].error.code(), Code::peer_left);
        EXPECT_EQ(all[k].error.culprit().rank, VirtualNet::rank(gone));
        failed += all[k].tensors.size();
      }
      EXPECT_GE(failed, parcels.size()) << "member " << i;
    }
  }
}

TEST_P(OrderSoakContract, ANameSubmittedTwiceInAStepRunsTwice) {
  for (std::uint64_t seed = 0; seed < seeds(30); ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Rng rng(seed);
    VirtualNet n = net(4, seed);
    for (int step = 0; step < 8; ++step) {
      for (int again = 0; again < 2; ++again) {
        run_step(n, rng, {4, {{tensor_request("twice")}, {tensor_request(cat("other", again))}}});
      }
      if (step % 3 == 2) run_step(n, rng, {4, {{tensor_request("twice")}}});
    }
    expect_same_logs(n);
    expect_idle(n);
    EXPECT_EQ(parcel_count(n.flat(0)), 8u * 4u + 2u);
  }
}

TEST_P(OrderSoakContract, ReleaseGivesBackAllThatIsUnansweredInOrderOfSubmission) {
  OrderSettings settings;
  settings.tree_radix = 2;
  VirtualNet n = net(7, 3, settings);
  for (int step = 0; step < 2; ++step) {
    for (const char* name : {"a", "b", "c"}) n.submit_all(tensor_request(name));
    n.settle();
  }
  const auto group = group_request("g", {"x", "y"});
  for (const int i : {1, 3, 4}) {
    n.submit(i, tensor_request("b"));   // as a bit where there is a cache
    n.submit(i, tensor_request("new"));
    n.submit(i, group[0]);
    n.submit(i, tensor_request("a", {9}));
    if (i == 4) n.submit(i, kind_request("join", Collective::join));
    if (i == 4) n.submit(i, tensor_request("c"));
  }
  n.settle();
  for (const int i : {1, 3, 4}) {
    std::vector<std::string> names;
    const auto released = n.at(i).release();
    for (const Request& request : released) names.push_back(request.name);
    std::vector<std::string> expected = {"b", "new", "x", "a"};
    if (i == 4) expected.insert(expected.end(), {"join", "c"});
    EXPECT_EQ(names, expected) << "member " << i;
    EXPECT_EQ(released[2].group, "g");
    EXPECT_EQ(released[3].shape, (Shape{9}));
  }
}

INSTANTIATE_TEST_SUITE_P(All, OrderSoakContract, testing::ValuesIn(kOrderCases),
                         case_name);

}  // namespace
}  // namespace unisono::order
