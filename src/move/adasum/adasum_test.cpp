// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/adasum/adasum.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "base/data/rng.hpp"
#include "kernels/kernels.hpp"
#include "kernels/linear.hpp"
#include "move/local/testing/local_test_host.hpp"
#include "move/adasum/testing/adasum_oracle.hpp"

namespace unisono::move {
namespace {

using Vector = std::vector<double>;

std::vector<Vector> random_vectors(std::size_t n, std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Vector> out(n, Vector(count));
  for (Vector& vector : out) {
    for (double& value : vector) value = static_cast<double>(rng.below(2001)) / 500.0 - 1.5;
  }
  return out;
}

Vector by_gram(const std::vector<Vector>& given) {
  std::vector<const void*> inputs;
  for (const Vector& vector : given) inputs.push_back(vector.data());
  Vector gram(kernels::gram_size(given.size())), out(given.front().size());
  kernels::add_gram(DType::f64, inputs, out.size(), gram);
  kernels::combine(DType::f64, out.data(), inputs, adasum::factors(given.size(), gram), out.size());
  return out;
}

void expect_near(const Vector& got, const Vector& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], tolerance) << i;
}

TEST(Adasum, FactorsGiveWhatTheDefinitionGives) {
  for (const std::size_t n : {1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 17}) {
    for (const std::size_t count : {1, 3, 255, 256, 1000}) {
      const auto given = random_vectors(n, count, n * 100 + count);
      expect_near(by_gram(given), adasum_oracle(given), 1e-10);
    }
  }
}

TEST(Adasum, EqualVectorsAveragePerpendicularOnesAddUp) {
  const Vector a = {3, -1, 2, 0.5};
  for (const std::size_t n : {2, 3, 4, 5, 8}) {
    expect_near(by_gram(std::vector<Vector>(n, a)), a, 1e-14);
    std::vector<Vector> axes(n, Vector(n, 0.0));
    for (std::size_t i = 0; i < n; ++i) axes[i][i] = static_cast<double>(i + 1);
    Vector sum(n);
    std::iota(sum.begin(), sum.end(), 1.0);
    EXPECT_EQ(by_gram(axes), sum);
  }
}

TEST(Adasum, ZeroVectorsChangeNothing) {
  auto given = random_vectors(3, 50, 9);
  given[1].assign(50, 0.0);
  expect_near(by_gram(given), adasum_oracle(given), 1e-12);
  EXPECT_EQ(by_gram(std::vector<Vector>(4, Vector(7, 0.0))), Vector(7, 0.0));
  const Vector alone = given[0];
  EXPECT_EQ(by_gram({alone, Vector(50, 0.0)}), alone);
}

TEST(Adasum, VectorsThatCancelCountAsZero) {
  // 0.1 is not a binary fraction: the sum of what cancels is rounding noise, not zero.
  Vector a(300, 0.1), minus(300, -0.1), c(300, 0.7);
  c[5] = -3;
  expect_near(by_gram({a, minus, c}), c, 1e-12);
}

TEST(Adasum, PiecesGiveTheBitsOfTheWhole) {
  const std::size_t count = 300'000;
  const auto given = random_vectors(3, count, 4);
  std::vector<const std::byte*> bases;
  std::vector<const void*> inputs;
  for (const Vector& vector : given) {
    inputs.push_back(vector.data());
    bases.push_back(reinterpret_cast<const std::byte*>(vector.data()));
  }
  Vector gram(kernels::gram_size(3)), out(count);
  kernels::add_gram(DType::f64, inputs, count, gram);
  adasum::Share share(DType::f64, 3, 1, {{0, 0, count}});
  int steps = 1;
  while (!share.measure(bases)) ++steps;
  EXPECT_GT(steps, 2) << "the loop gets its turn";
  EXPECT_EQ(Vector(share.grams().begin(), share.grams().end()), gram);
  share.decide(gram);
  while (!share.combine(bases, reinterpret_cast<std::byte*>(out.data()))) {
  }
  EXPECT_EQ(out, by_gram(given));
}

// Two tensors in one bucket over shared memory, every member with its own random timing.
TEST(LocalAdasum, WorksTensorByTensor) {
  for (const int n : {2, 3, 5, 8}) {
    LocalTestHost host(n, 77 + static_cast<std::uint64_t>(n));
    for (int round = 0; round < 3; ++round) {
      const std::vector<std::size_t> counts = {1001, 3, 90'000};
      std::vector<std::vector<Vector>> given;
      for (const std::size_t count : counts) {
        given.push_back(random_vectors(static_cast<std::size_t>(n), count, count));
      }
      auto data = given;
      std::vector<std::unique_ptr<LocalCollective>> machines;
      for (int member = 0; member < n; ++member) {
        LocalReduction work{.dtype = DType::f64, .op = ReduceOp::adasum, .postscale = 2.0};
        for (auto& tensor : data) {
          auto* bytes =
              reinterpret_cast<std::byte*>(tensor[static_cast<std::size_t>(member)].data());
          const std::size_t size = tensor[0].size() * sizeof(double);
          work.items.push_back(
              {.source = bytes, .target = bytes, .offset = work.bytes, .bytes = size});
          work.bytes += size;
        }
        machines.push_back(make_local_adasum(host.team(member), std::move(work)));
      }
      host.run(std::move(machines));
      for (std::size_t t = 0; t < counts.size(); ++t) {
        Vector wanted = adasum_oracle(given[t]);
        for (double& value : wanted) value *= 2.0;
        for (const Vector& got : data[t]) {
          expect_near(got, wanted, 1e-9);
          EXPECT_EQ(got, data[t][0]);
        }
      }
    }
  }
}

TEST(LocalAdasum, AMemberThatStopsLeavesTheTensorsUntouched) {
  for (int stops_after = 0; stops_after < 12; ++stops_after) {
    LocalTestHost host(3, 5);
    const auto given = random_vectors(3, 2000, 1);
    auto data = given;
    std::vector<std::unique_ptr<LocalCollective>> machines;
    for (int member = 0; member < 3; ++member) {
      auto* bytes = reinterpret_cast<std::byte*>(data[static_cast<std::size_t>(member)].data());
      LocalReduction work{.dtype = DType::f64, .op = ReduceOp::adasum};
      work.items.push_back({.source = bytes, .target = bytes, .offset = 0, .bytes = 16'000});
      work.bytes = 16'000;
      machines.push_back(make_local_adasum(host.team(member), std::move(work)));
    }
    for (int i = 0, left = stops_after; i < 200; ++i) {
      for (std::size_t member = 0; member < 2; ++member) {
        if (!machines[member]->committed()) machines[member]->step();
      }
      if (left > 0 && machines[2]->step() != Step::waiting) --left;
    }
    for (std::size_t member = 0; member < 2; ++member) {
      const bool whole = machines[member]->committed();
      while (whole && machines[member]->step() != Step::finished) {
      }
      if (!whole) machines[member]->undo();
      if (whole) {
        expect_near(data[member], adasum_oracle(given), 1e-9);
      } else {
        EXPECT_EQ(data[member], given[member]) << "stopped after " << stops_after << " steps";
      }
    }
  }
}

}  // namespace
}  // namespace unisono::move
