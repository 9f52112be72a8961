// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Samples that the ranks of a job hold together: what they agree on before they train. Knows no file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "opt/data/libsvm.hpp"
#include "opt/data/rows.hpp"
#include "unisono/unisono.hpp"

namespace unisono::opt {

// The two values of a label in ascending order: the lower one is -1 to the models, the other +1.
struct LabelPair {
  float low = -1;
  float high = 1;
};

struct Dataset {
  Rows rows;                                // of this rank; labels are -1 and +1
  LabelPair labels;
  std::vector<std::uint64_t> rows_of;       // by rank
  std::string note;                         // why a cache was not used; "" = nothing to tell
  std::uint64_t total() const;
};

// What one rank has, before labels are mapped.
struct ReadPart {
  Rows rows;
  LabelsSeen labels;
};

struct AllParts {
  LabelsSeen labels;
  std::vector<std::uint64_t> rows_of;
  std::uint32_t width = 0;
};
// Collective.
Result<AllParts> tell_parts(Engine& engine, const ReadPart& part);

// The two labels there are, or why they are not two.
Result<LabelPair> pair_of(const LabelsSeen& all);
void map_labels(Rows& rows, const LabelPair& pair);

// Rows that a program has in memory. Collective.
Result<Dataset> share(Engine& engine, Rows rows);

}  // namespace unisono::opt
