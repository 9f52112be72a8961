// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What each algorithm of move/sparse would take, and how much it sends. Both follow from how many
// different indices some neighbouring members have in some range: given what they really have, the
// bytes are exactly those that the machines send; given expected counts, they are a prediction.
// All ranks get the same bits from the same figures, as in algorithms.hpp. Pure; thread: any.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "cost/layout.hpp"

namespace unisono::cost {

// How many different indices `count` members from `first` on, counted around, have in [begin, end).
using UnionCount =
    std::function<double(int first, int count, std::uint64_t begin, std::uint64_t end)>;

// Every member has k of N indices, any of them equally likely: m of them have N (1 - (1 - k/N)^m).
UnionCount uniform_supports(std::uint64_t length, double k, int members);
// All members have the same indices, or none in common with another.
UnionCount identical_supports(std::uint64_t length, double k);
UnionCount disjoint_supports(std::uint64_t length, double k);

struct SparseCase {
  Layout layout = {};
  std::uint64_t length = 0;                 // N
  std::uint64_t value_bytes = 4;            // v
  bool partials = false;                    // sums on the way are float32
  double dense_multiplier = 1.0;
  UnionCount count = {};
  bool balanced = false;                    // of a split: slices hold equally much
  std::vector<std::uint64_t> cuts = {};     // of a balanced split, n + 1; empty: even ones
  double k = 0;                             // elements in the result of oktopk
  std::vector<double> kept = {};            // of them, by owner; empty: equally many
  bool estimates = false;                   // oktopk looks for its threshold
  double gathered_bytes_per_value = 0;      // of a codec; 0: none
  std::string_view dense_algorithm = "ring";  // by which dense values are reduced
  // The same for the time, by how many bytes they are; none: the best there is.
  std::function<std::string_view(std::size_t bytes)> dense_rule = {};
};

// Bytes that all members together send, headers included. The algorithm must have a row, and what
// members bring is sparse. Of "hierarchical", with equally many members on each host and
// "ssar_split_allgather" between them; of "identical", with that where supports differ.
double sent_by_sparse(std::string_view algorithm, const SparseCase& what);
// Seconds from when the last member begins until all have the result. Members are taken as alike.
double predict_sparse(std::string_view algorithm, const SparseCase& what, const Costs& costs);

struct SparseCandidate {
  std::string_view algorithm;
  double predicted_s = 0;
  double sent_bytes = 0;                    // by each member, about
};
struct SparseAllowed {
  bool topk = false;                        // "oktopk"
  bool codec = false;                       // a codec in the gather of "dsar_split_allgather"
  bool user_operator = false;               // nothing that only knows our own operators
  bool supports_may_agree = false;          // "identical" is worth asking for
};
// The candidates, the best first; "dense" is always one of them, and lossy ones only if allowed.
// Ties go to the row that comes first in the table.
std::vector<SparseCandidate> choose_sparse(const SparseCase& what, const SparseAllowed& allowed,
                                           const Costs& costs);

}  // namespace unisono::cost
