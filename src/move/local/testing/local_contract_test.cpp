// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Local collectives against plain loops: any number of members, stepped in random order.
#include "move/local/testing/local_test_host.hpp"
#include "base/testing/effort.hpp"

namespace unisono::move {
namespace {

class LocalContract : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Members, LocalContract, testing::Values(1, 2, 3, 4, 5, 8, 13, 17));

TEST_P(LocalContract, AllreduceFromCallersMemory) {
  const int n = GetParam();
  LocalTestHost host(n, 11);
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i64, DType::u8, DType::boolean}) {
    for (ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::product}) {
      for (std::size_t count : {0, 1, 5, 33, 1000, 9001, 70001}) {
        std::vector<Bytes> inputs;
        for (int i = 0; i < n; ++i) inputs.push_back(filled(dtype, count, host.rng()));
        const Bytes want = expected(dtype, op, inputs, count);
        std::vector<std::unique_ptr<LocalCollective>> machines;
        for (int i = 0; i < n; ++i) {
          LocalReduction work{.dtype = dtype, .op = op, .items = {}, .bytes = inputs[i].size()};
          // Two tensors back to back, cut at an odd place.
          const std::size_t cut = count / 3 * size_of(dtype);
          work.items.push_back({inputs[i].data(), inputs[i].data(), 0, cut});
          work.items.push_back(
              {inputs[i].data() + cut, inputs[i].data() + cut, cut, work.bytes - cut});
          machines.push_back(make_local_allreduce(host.team(i), std::move(work)));
        }
        host.run(std::move(machines));
        for (int i = 0; i < n; ++i)
          ASSERT_EQ(inputs[i], want) << name_of(dtype) << name_of(op) << count;
      }
    }
  }
}

TEST_P(LocalContract, AllreduceResidentAndMixed) {
  const int n = GetParam();
  LocalTestHost host(n, 12);
  for (int residents : {n, n / 2}) {
    for (std::size_t count : {std::size_t{9000}, std::size_t{200'001}}) {
      std::vector<Bytes> inputs;
      for (int i = 0; i < n; ++i) inputs.push_back(filled(DType::f32, count, host.rng()));
      const Bytes want = expected(DType::f32, ReduceOp::sum, inputs, count);
      std::vector<std::byte*> tensors;
      std::vector<std::unique_ptr<LocalCollective>> machines;
      for (int i = 0; i < n; ++i) {
        const bool resident = i < residents;
        tensors.push_back(resident ? host.resident(i, inputs[i].size()) : inputs[i].data());
        if (resident) std::memcpy(tensors[i], inputs[i].data(), inputs[i].size());
        LocalReduction work{.items = {{tensors[i], tensors[i], 0, inputs[i].size()}},
                            .bytes = inputs[i].size()};
        machines.push_back(make_local_allreduce(host.team(i), std::move(work)));
      }
      host.run(std::move(machines));
      for (int i = 0; i < n; ++i) {
        ASSERT_EQ(std::memcmp(tensors[i], want.data(), want.size()), 0) << i;
      }
    }
  }
}

// A member goes on to its next operation while slower ones still read the last: what they read must
// not change under them. Sizes grow, so that windows are replaced on the way.
TEST_P(LocalContract, FastMembersDoNotDisturbSlowOnes) {
  const int n = GetParam();
  for (std::uint64_t seed = 0; seed < (short_of_time() ? 3u : 10u); ++seed) {
    LocalTestHost host(n, seed);
    constexpr int kOperations = 12;
    std::vector<std::vector<std::vector<float>>> data(n);
    std::vector<std::unique_ptr<LocalCollective>> machines(n);
    std::vector<int> next(n, 0);
    const auto start = [&](int i) {
      const int k = next[i]++;
      data[i].emplace_back(9000u + 7000u * static_cast<unsigned>(k) * (k % 3),
                           static_cast<float>(k + i));
      auto* at = reinterpret_cast<std::byte*>(data[i].back().data());
      LocalReduction work{.items = {{at, at, 0, data[i].back().size() * 4}},
                          .bytes = data[i].back().size() * 4};
      machines[i] = make_local_allreduce(host.team(i), std::move(work));
    };
    for (int i = 0; i < n; ++i) data[i].reserve(kOperations), start(i);
    for (int open = n; open > 0;) {
      // Low members get most of the turns.
      const int i = static_cast<int>(std::min(host.rng().below(n), host.rng().below(n)));
      if (machines[i] == nullptr || machines[i]->step() != Step::finished) continue;
      machines[i].reset();
      if (next[i] < kOperations) {
        start(i);
      } else {
        --open;
      }
    }
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < kOperations; ++k) {
        const auto want = static_cast<float>(k * n + n * (n - 1) / 2);
        for (const float value : data[i][k])
          ASSERT_EQ(value, want) << "seed " << seed << " op " << k;
      }
    }
  }
}

TEST_P(LocalContract, AveragesScalesAndJoinedMembers) {
  const int n = GetParam();
  LocalTestHost host(n, 13);
  for (std::size_t count : {std::size_t{7}, std::size_t{50'000}}) {
    std::vector<std::vector<float>> data(n, std::vector<float>(count, 2.0f));
    std::vector<std::unique_ptr<LocalCollective>> machines;
    for (int i = 0; i < n; ++i) {
      auto* at = reinterpret_cast<std::byte*>(data[i].data());
      LocalReduction work{.op = ReduceOp::average, .prescale = 3.0, .divisor = n, .postscale = 0.5,
                          .items = {{i == n - 1 ? nullptr : at, at, 0, count * 4}},
                          .bytes = count * 4};
      machines.push_back(make_local_allreduce(host.team(i), std::move(work)));
    }
    host.run(std::move(machines));
    const float want = 6.0f * static_cast<float>(n - 1) / static_cast<float>(n) * 0.5f;
    for (int i = 0; i < n; ++i) {
      for (float value : data[i]) ASSERT_NEAR(value, want, 1e-5);
    }
  }
}

TEST_P(LocalContract, AllgatherBroadcastAlltoallReducescatterBarrier) {
  const int n = GetParam();
  LocalTestHost host(n, 14);
  for (std::size_t scale : {std::size_t{0}, std::size_t{1}, std::size_t{40'000}}) {
    std::vector<std::unique_ptr<LocalCollective>> machines;
    // allgather, ragged
    Extents counts;
    Bytes all;
    std::vector<Bytes> mine, outs;
    for (int i = 0; i < n; ++i) {
      counts.push_back(scale * static_cast<std::size_t>(i % 3));
      mine.emplace_back(counts.back(), std::byte(i + 1));
      all.insert(all.end(), mine.back().begin(), mine.back().end());
    }
    outs.assign(n, Bytes(all.size()));
    for (int i = 0; i < n; ++i) {
      machines.push_back(make_local_allgather(host.team(i), mine[i], counts, outs[i]));
    }
    host.run(std::move(machines));
    for (const Bytes& out : outs) ASSERT_EQ(out, all);

    for (int root : {0, n - 1}) {
      machines.clear();
      std::vector<Bytes> data;
      for (int i = 0; i < n; ++i) data.emplace_back(scale * 7, std::byte(i));
      for (int i = 0; i < n; ++i) {
        machines.push_back(make_local_broadcast(host.team(i), root, data[i], data[i]));
      }
      host.run(std::move(machines));
      for (const Bytes& out : data) ASSERT_EQ(out, Bytes(scale * 7, std::byte(root)));
    }

    machines.clear();
    std::vector<std::size_t> matrix(static_cast<std::size_t>(n * n));
    for (std::size_t k = 0; k < matrix.size(); ++k) matrix[k] = scale * (k % 4);
    std::vector<Bytes> in(n), got(n), want(n);
    for (int s = 0; s < n; ++s) {
      for (int r = 0; r < n; ++r) {
        const std::size_t bytes = matrix[static_cast<std::size_t>(s * n + r)];
        in[s].insert(in[s].end(), bytes, std::byte(s * 16 + r));
        want[r].insert(want[r].end(), bytes, std::byte(s * 16 + r));
      }
    }
    for (int i = 0; i < n; ++i) got[i].resize(want[i].size());
    for (int i = 0; i < n; ++i) {
      machines.push_back(make_local_alltoall(host.team(i), in[i], matrix, got[i]));
    }
    host.run(std::move(machines));
    ASSERT_EQ(got, want);

    machines.clear();
    const std::size_t count = scale + static_cast<std::size_t>(n);
    std::vector<Bytes> inputs;
    for (int i = 0; i < n; ++i) inputs.push_back(filled(DType::f32, count, host.rng()));
    const Bytes sum = expected(DType::f32, ReduceOp::sum, inputs, count);
    Extents parts(static_cast<std::size_t>(n), 4);
    parts[0] = (count - static_cast<std::size_t>(n) + 1) * 4;
    std::vector<Bytes> shares;
    for (int i = 0; i < n; ++i) shares.emplace_back(parts[i]);
    for (int i = 0; i < n; ++i) {
      LocalReduction work{.items = {{inputs[i].data(), nullptr, 0, count * 4}}, .bytes = count * 4};
      machines.push_back(make_local_reducescatter(host.team(i), std::move(work), parts, shares[i]));
    }
    host.run(std::move(machines));
    Bytes joined;
    for (const Bytes& share : shares) joined.insert(joined.end(), share.begin(), share.end());
    ASSERT_EQ(joined, sum);

    machines.clear();
    for (int i = 0; i < n; ++i) machines.push_back(make_local_barrier(host.team(i)));
    host.run(std::move(machines));
  }
}

}  // namespace
}  // namespace unisono::move
