// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Why a collective over messages runs the algorithm it does: what the links cost, which algorithms
// were tried for which sizes, and what was chosen. Figures are agreed on by the members, so all of
// them see the same. Values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "unisono/export.hpp"
#include "unisono/types.hpp"

namespace unisono {

// One kind of link between ranks: memory, loopback or wire.
struct LinkFigures {
  std::string link;
  double latency_us = 0;                    // of the shortest message
  double us_per_mib = 0;                    // of long ones
  bool measured = false;                    // false: typical figures
};

struct AlgorithmTrial {
  std::string algorithm;
  double predicted_us = 0;
  double measured_us = 0;                   // the best of its runs until all members had finished
  int runs = 0;
};

// The collectives of a kind and a process set whose sizes are from bytes_min to bytes_max: what each
// rank brings, and of an allgather all parts together.
struct AlgorithmChoice {
  std::string collective;                   // "allreduce" and so on
  std::uint32_t set = 0;                    // a ProcessSetId
  int channel = 0;
  std::uint64_t bytes_min = 0, bytes_max = 0;
  std::string dtype;                        // of 16- and 8-bit floats; "" for all others
  bool encoded = false;                     // of tensors that a codec changes
  std::string algorithm;                    // what runs now
  bool frozen = false;                      // and from now on
  std::string reason;                       // in a sentence
  std::uint64_t bytes = 0;                  // for which times are predicted; 0: none are
  std::vector<AlgorithmTrial> candidates;   // the best prediction first
  std::vector<AlgorithmTrial> others;       // predicted to take too long for a trial
};

// A sparse collective of some length and number of elements, or the elements that a codec picks.
struct SparseChoice {
  std::string collective;                   // "sparse_allreduce", or the codec
  std::uint32_t set = 0;                    // a ProcessSetId
  std::string dtype;
  std::uint64_t length = 0;                 // of the vector
  double elements = 0;                      // that each rank brings, as the choice takes it
  std::string algorithm;                    // what ran last
  std::string reason;                       // in a sentence
  std::vector<AlgorithmTrial> candidates;   // the best prediction first; empty: nothing was chosen
};

struct UNISONO_API Explanation {
  std::vector<LinkFigures> links;           // empty: nothing was measured
  double reduce_us_per_mib = 0;
  double merge_ns_per_pair = 0;             // of two sparse streams
  std::vector<AlgorithmChoice> choices;     // by set, channel and size
  std::vector<SparseChoice> sparse;         // by set, collective and size

  std::string text() const;                 // for people
};

}  // namespace unisono
