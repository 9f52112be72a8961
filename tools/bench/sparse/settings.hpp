// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What `unisono bench sparse` was asked for. A value.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/data/text.hpp"
#include "bench/sparse/inputs/supports.hpp"
#include "unisono/types.hpp"

namespace unisono::tools {

// A way to reduce sparse vectors: an algorithm, and what the dense part of it travels as.
struct SparseMethod {
  std::string algorithm;                     // "auto": the engine chooses
  int gather_bits = 0;                       // of the gather of dsar_split_allgather; 0: all

  std::string codec() const { return gather_bits == 0 ? "" : cat("qsgd:", gather_bits); }
  std::string name() const { return gather_bits == 0 ? algorithm : cat(algorithm, "+", codec()); }
  friend bool operator==(const SparseMethod&, const SparseMethod&) = default;
};

// One vector that is reduced in all ways.
struct SparseBenchCase {
  std::uint64_t length = 0;
  DType dtype = DType::f32;
  double density = 0;
  Support support = Support::uniform;

  std::uint64_t bytes() const { return length * size_of(dtype); }
  SupportShape shape(int ranks, std::uint64_t seed) const {
    return {support, length, elements_at(density, length), ranks, seed};
  }
};

struct SparseBenchSettings {
  std::vector<SparseBenchCase> cases;
  std::vector<SparseMethod> methods;
  std::vector<std::string> dense{"ring", "auto"};  // algorithms of the same vector, all of it sent
  // What every engine is asked for, by the names of the option table.
  std::vector<std::pair<std::string, std::string>> options;
  int ranks = 0;                             // 0: two, or as many as the launcher has started
  int repeat = 7;                            // turns of each way
  int iterations = 0;                        // in one turn; 0: as many as fit kTurnSeconds
  int warmup = -1;                           // calls before; < 0: more where trials go on
  std::uint64_t seed = 1;
  std::string json, plot;                    // paths; - is standard output
  bool quiet = false;
  bool lines = false;                        // rank 0 writes for another process, not for people
  std::string command;                       // the line as typed, for the report
};

}  // namespace unisono::tools
