// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The samples of a job: every rank holds the lines of one byte range of a file, read by several
// threads. When one line anywhere is bad, every rank gets the same error and nobody has data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "opt/data/libsvm.hpp"
#include "opt/data/rows.hpp"
#include "opt/data/text_file.hpp"
#include "unisono/unisono.hpp"

namespace unisono::opt {

// The two values of a label in ascending order: the lower one is -1 to the models, the other +1.
struct LabelPair {
  float low = -1;
  float high = 1;
};

struct LoadSettings {
  std::string path;
  std::string cache;                        // beginning of the names of binary caches; "" = none
  int threads = 1;
  // Given for data that a model is tried on: other labels are refused, and columns from `width` on
  // are left out, since their weights are 0.
  std::optional<LabelPair> labels;
  std::uint32_t width = 0;
};

struct Dataset {
  Rows rows;                                // of this rank; labels are -1 and +1
  LabelPair labels;
  std::vector<std::uint64_t> rows_of;       // by rank
  std::string note;                         // why a cache was not used; "" = nothing to tell
  std::uint64_t total() const;
};

// What one process reads of a file, before labels are mapped. invalid_argument: FILE:LINE:COLUMN and
// the reason.
struct ReadPart {
  Rows rows;
  LabelsSeen labels;
};
Result<ReadPart> read_part(const std::string& path, Part part, int threads);

// Collective.
Result<Dataset> load(Engine& engine, const LoadSettings& settings);
// The same from rows that a program has in memory: agrees on labels and width. Collective.
Result<Dataset> share(Engine& engine, Rows rows);

}  // namespace unisono::opt
