// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What `unisono bench sparse` has measured, as values, and as JSON on the way from rank 0 to the
// process that started it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/step/results.hpp"

namespace unisono::tools {

// What was reduced, and what became of it.
struct SparseBenchInput {
  std::string dtype, support;
  double density = 0;
  std::uint64_t length = 0, bytes = 0;       // of the dense vector
  std::uint64_t nnz = 0, nnz_out = 0;        // of each rank; of the sum
  double expected_nnz_out = 0;

  double fill_in() const { return static_cast<double>(nnz_out) / static_cast<double>(length); }
  double expected_fill_in() const { return expected_nnz_out / static_cast<double>(length); }
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SparseBenchInput, dtype, support, density, length, bytes, nnz,
                                   nnz_out, expected_nnz_out)

// One way to reduce one input. Bytes are those of one call.
struct SparseBenchRow {
  int input = 0;                             // which one
  std::string collective;  // "sparse_allreduce", or "allreduce" of the dense vector
  std::string algorithm, codec;              // as asked for
  std::string ran;                           // which algorithm it was; "" when nobody knows
  std::string refused;                       // why it was not measured; empty when it was
  std::vector<double> times_us;              // of the slowest rank, call by call
  int turns = 0;
  bool lossy = false, dense_result = false, checked = false;
  double data_bytes = 0, data_bytes_most = 0;  // sent by a rank: on average, and by which sent most
  double predicted_bytes = 0;                // from expected counts; 0: there is no closed form
  double counted_bytes = 0;                  // by the same form from the counts that are there
  double predicted_us = 0;

  std::string name() const { return codec.empty() ? algorithm : algorithm + "+" + codec; }
  bool dense() const { return collective == "allreduce"; }
  double median_us() const;
  double p10_us() const;
  double p90_us() const;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SparseBenchRow, input, collective, algorithm, codec, ran,
                                   refused, times_us, turns, lossy, dense_result, checked,
                                   data_bytes, data_bytes_most, predicted_bytes, counted_bytes,
                                   predicted_us)

struct SparseBenchResults {
  int ranks = 0, hosts = 1;
  std::string transport, integrity, emulate;  // as the engines have them
  bool shares_memory = false;                // a dense allreduce goes through it, not over messages
  std::vector<StepLink> links;               // none where nothing was measured
  double reduce_us_per_mib = 0;
  std::vector<SparseBenchInput> inputs;
  std::vector<SparseBenchRow> rows;          // input by input
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SparseBenchResults, ranks, hosts, transport, integrity, emulate,
                                   shares_memory, links, reduce_us_per_mib, inputs, rows)

// The dense row that others of its input are compared with: the ring, or else the first that was
// measured; null when there is none.
const SparseBenchRow* dense_beside(const SparseBenchResults& results, int input);

}  // namespace unisono::tools
