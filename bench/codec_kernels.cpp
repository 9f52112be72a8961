// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The kernels of low-precision and sparse exchange, against memcpy: bytes of gradient per second on
// one core. Every round measures each once, in turn, so that all see the same machine; printed are
// median and p90 of the rounds, and the share of memcpy's bytes per second by medians.
//
//   bench_codec_kernels [MiB ...] [--seconds S] [--only NAME]     default: 4 and 64 MiB, 6 seconds
//   each
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kernels/kernels.hpp"
#include "kernels/pick/pick.hpp"
#include "kernels/quantise/quantise.hpp"

namespace {

namespace kernels = unisono::kernels;
using Clock = std::chrono::steady_clock;

// Uniform in (0, 1); the same on every machine.
double next_uniform(std::uint64_t& state) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (static_cast<double>(state >> 11) + 0.5) * 0x1.0p-53;
}

// Normally distributed, as gradients nearly are.
std::vector<float> normal_values(std::size_t count, std::uint64_t seed) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i + 1 < count; i += 2) {
    const double radius = 1e-3 * std::sqrt(-2 * std::log(next_uniform(seed)));
    const double angle = 6.283185307179586 * next_uniform(seed);
    out[i] = static_cast<float>(radius * std::cos(angle));
    out[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
  return out;
}

// What the kernels read and write. Accumulators and residuals are filled again before each call
// that changes them, outside of what is timed.
struct Memory {
  explicit Memory(std::size_t n)
      : count(n),
        values(normal_values(n, 1)),
        other(normal_values(n, 2)),
        out(n),
        residual(n),
        scales(kernels::scale_count(n)),
        codes(n),
        indices(n / 8),
        picked(n / 8) {}
  std::size_t count;
  std::vector<float> values, other, out, residual, scales;
  std::vector<std::byte> codes;
  std::vector<std::uint32_t> indices;
  std::vector<float> picked;
};

struct Case {
  std::string name;
  std::function<void()> prepare, run;
  std::vector<double> seconds = {};
};

std::vector<Case> quantise_cases(Memory& m) {
  static const kernels::QuantiseKey key{1, 2, 3, 4};
  std::vector<Case> all;
  const auto encode = [&m](int bits, const kernels::QuantiseKey* k) {
    return [&m, bits, k] {
      kernels::quantise(bits, k, 0, m.values.data(), m.count, m.scales.data(), m.codes.data());
    };
  };
  for (const int bits : {2, 4, 8}) {
    const std::string width = std::to_string(bits) + " bits";
    const auto code = encode(bits, nullptr);
    all.push_back({"quantise " + width + " at random", {}, encode(bits, &key)});
    all.push_back({"quantise " + width + " to nearest", {}, code});
    all.push_back({"dequantise-add " + width, code, [&m, bits] {
                     kernels::dequantise_add(bits, m.scales.data(), m.codes.data(), m.count,
                                             m.out.data());
                   }});
  }
  const auto e4m3 = unisono::DType::f8e4m3;
  const auto code = [&m, e4m3] {
    kernels::quantise_fp8(e4m3, m.values.data(), m.count, m.scales.data(), m.codes.data());
  };
  all.push_back({"quantise f8e4m3", {}, code});
  all.push_back({"dequantise-add f8e4m3", code, [&m, e4m3] {
                   kernels::dequantise_add_fp8(e4m3, m.scales.data(), m.codes.data(), m.count,
                                               m.out.data());
                 }});
  return all;
}

std::vector<Case> pick_cases(Memory& m) {
  const std::size_t k = m.count / 100;
  const auto cut = kernels::cut_of_largest(m.values.data(), m.count, k);
  std::vector<float> sum(m.values);
  kernels::reduce(unisono::DType::f32, unisono::ReduceOp::sum, sum.data(), m.other.data(), m.count);
  const auto fed_cut = kernels::cut_of_largest(sum.data(), m.count, k);
  const auto refill = [&m] { std::copy(m.other.begin(), m.other.end(), m.residual.begin()); };
  std::vector<Case> all;
  all.push_back({"threshold compact, 1 %", {}, [&m, cut] {
                   kernels::compact(m.values.data(), m.count, {cut.magnitude}, 0, m.indices.data(),
                                    m.picked.data(), m.indices.size());
                 }});
  all.push_back({"feedback + compact, 1 %", refill, [&m, fed_cut] {
                   kernels::compact_with_feedback(m.residual.data(), m.values.data(), m.count,
                                                  {fed_cut.magnitude}, 0, m.indices.data(),
                                                  m.picked.data(), m.indices.size());
                 }});
  all.push_back({"threshold of the largest 1 %", {}, [&m, k] {
                   m.picked[0] = kernels::cut_of_largest(m.values.data(), m.count, k).magnitude;
                 }});
  for (const std::size_t picks : {1, 4, 16}) {
    all.push_back({"top " + std::to_string(picks) + " of 512", {}, [&m, picks] {
                     kernels::top_of_buckets(m.values.data(), m.count, 512, picks, 0,
                                             m.indices.data(), m.picked.data());
                   }});
  }
  all.push_back({"feedback + top 4 of 512", refill, [&m] {
                   kernels::top_of_buckets_with_feedback(m.residual.data(), m.values.data(),
                                                         m.count, 512, 4, 0, m.indices.data(),
                                                         m.picked.data());
                 }});
  return all;
}

std::vector<Case> all_cases(Memory& m) {
  std::vector<Case> all;
  all.push_back({"memcpy", {}, [&m] {
                   std::memcpy(m.out.data(), m.values.data(), m.count * sizeof(float));
                 }});
  all.push_back({"dense add", {}, [&m] {
                   kernels::reduce(unisono::DType::f32, unisono::ReduceOp::sum, m.out.data(),
                                   m.values.data(), m.count);
                 }});
  all.push_back({"all finite", {}, [&m] {
                   m.picked[0] = kernels::all_finite(m.values.data(), m.count) ? 1.0f : 0.0f;
                 }});
  for (auto& c : quantise_cases(m)) all.push_back(std::move(c));
  for (auto& c : pick_cases(m)) all.push_back(std::move(c));
  return all;
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

void measure(std::size_t mib, double seconds, const std::string& only) {
  Memory memory(mib * (1u << 20) / sizeof(float));
  std::vector<Case> cases = all_cases(memory);
  if (!only.empty()) {
    std::erase_if(cases, [&](const Case& c) {
      return c.name != "memcpy" && c.name.find(only) == std::string::npos;
    });
  }
  const auto begin = Clock::now();
  for (int round = -1;
       round < 5 || std::chrono::duration<double>(Clock::now() - begin).count() < seconds;
       ++round) {
    for (Case& c : cases) {
      if (c.prepare) c.prepare();
      const auto from = Clock::now();
      c.run();
      const double took = std::chrono::duration<double>(Clock::now() - from).count();
      if (round >= 0) c.seconds.push_back(took);
    }
  }
  const double bytes = static_cast<double>(memory.count) * sizeof(float);
  const double copy = quantile(cases[0].seconds, 0.5);
  std::printf("%zu MiB, %zu rounds\n%-30s %10s %10s %8s\n", mib, cases[0].seconds.size(), "",
              "GB/s", "p90 GB/s", "memcpys");
  for (const Case& c : cases) {
    const double median = quantile(c.seconds, 0.5);
    std::printf("%-30s %10.2f %10.2f %8.3f\n", c.name.c_str(), bytes / median / 1e9,
                bytes / quantile(c.seconds, 0.9) / 1e9, copy / median);
  }
}

}  // namespace

int main(int argc, char** argv) {
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(static_cast<std::size_t>(std::max(sched_getcpu(), 0)), &core);
  sched_setaffinity(0, sizeof core, &core);
  std::vector<std::size_t> sizes;
  double seconds = 6;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--seconds" && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else if (word == "--only" && i + 1 < argc) {
      only = argv[++i];
    } else {
      sizes.push_back(static_cast<std::size_t>(std::max(1, std::atoi(word.c_str()))));
    }
  }
  if (sizes.empty()) sizes = {4, 64};
  for (const std::size_t mib : sizes) measure(mib, seconds, only);
}
