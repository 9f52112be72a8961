// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the kernels of sparse streams take on one core: eight streams of float32 with 32-bit indices
// spread evenly over 2^21 elements, the best of seven runs.
//   build/release/bench/bench_sparse_kernels
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "base/data/rng.hpp"
#include "kernels/kernels.hpp"
#include "kernels/sparse/sparse.hpp"

namespace {

using namespace unisono;
using kernels::Pairs;
using kernels::PairsOut;

constexpr std::size_t kLength = 1 << 21;
constexpr int kInputs = 8;

template <typename Work>
double best_s(const Work& work) {
  double best = 1e9;
  for (int run = 0; run < 7; ++run) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  return best;
}

struct Elements {
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
  Pairs pairs() const {
    return {.count = indices.size(), .narrow = indices.data(), .values = values.data()};
  }
};

struct Room {
  explicit Room(std::size_t capacity) : indices(capacity), values(capacity) {}
  PairsOut out() {
    return {.capacity = indices.size(), .narrow = indices.data(), .values = values.data()};
  }
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
};

void measure(double density, double dense_byte_s) {
  Rng rng(3);
  std::vector<Elements> in(kInputs);
  std::size_t total = 0;
  for (Elements& one : in) {
    for (std::size_t i = 0; i < kLength; ++i) {
      if (rng.uniform() < density) one.indices.push_back(static_cast<std::uint32_t>(i));
    }
    one.values.assign(one.indices.size(), 1.0F);
    total += one.indices.size();
  }
  std::vector<float> values(kLength);
  std::vector<std::uint64_t> present(kernels::presence_words(kLength));
  const kernels::Accumulators segment{DType::f32, kLength, values.data(), present.data()};
  const double scatter_s = best_s([&] {
    std::fill(present.begin(), present.end(), 0);
    for (const Elements& one : in) kernels::scatter_reduce({}, segment, one.pairs());
  });
  const std::size_t there = kernels::count_present(segment);
  Room result(there), merged(total), other(total);
  const double compact_s = best_s([&] { kernels::compact(segment, result.out()); });
  const std::size_t two = in[0].indices.size() + in[1].indices.size();
  const double merge_s =
      best_s([&] { kernels::merge({}, in[0].pairs(), in[1].pairs(), merged.out()); });
  const double all_s = best_s([&] {
    Pairs held = in[0].pairs();
    for (std::size_t m = 1; m < in.size(); ++m) {
      Room& to = m % 2 == 0 ? merged : other;
      const auto count = kernels::merge({}, held, in[m].pairs(), to.out());
      held = to.out().narrow == merged.indices.data()
                 ? Pairs{.count = *count, .narrow = merged.indices.data(),
                         .values = merged.values.data()}
                 : Pairs{.count = *count, .narrow = other.indices.data(),
                         .values = other.values.data()};
    }
  });
  const auto pairs_per_us = [](std::size_t pairs, double s) {
    return static_cast<double>(pairs) / s / 1e6;
  };
  const auto times_dense = [&](std::size_t pairs, double s) {
    return s / (static_cast<double>(pairs) * 8) / dense_byte_s;
  };
  std::printf("%7.2f %% | scatter %4.0f (%4.1f) | compact %4.0f (%4.1f) | merge %4.0f (%4.1f) | "
              "scatter and compact %6.2f ms | merge one after the other %6.2f ms\n",
              100 * density, pairs_per_us(total, scatter_s), times_dense(total, scatter_s),
              pairs_per_us(there, compact_s), times_dense(there, compact_s),
              pairs_per_us(two, merge_s), times_dense(two, merge_s),
              1e3 * (scatter_s + compact_s), 1e3 * all_s);
}

}  // namespace

int main() {
  std::vector<float> sum(kLength, 1.0F), other(kLength, 1.0F);
  const double dense_s = best_s([&] {
    unisono::kernels::reduce(unisono::DType::f32, unisono::ReduceOp::sum, sum.data(), other.data(),
                             kLength);
  });
  const double dense_byte_s = dense_s / (kLength * 4);
  std::printf("a dense sum: %.1f GB/s\n", 1e-9 / dense_byte_s);
  std::printf("pairs in a microsecond (and times a dense sum of as many bytes), 8 inputs:\n");
  for (const double density : {1.0 / 512, 1.0 / 128, 1.0 / 16, 0.3}) {
    measure(density, dense_byte_s);
  }
  return 0;
}
