// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The samples of a job: every rank holds the lines of one byte range of a file, read by several
// threads. When one line anywhere is bad, every rank gets the same error and nobody has data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "opt/data/libsvm.hpp"
#include "opt/data/share.hpp"
#include "opt/data/file/text_file.hpp"
#include "unisono/unisono.hpp"

namespace unisono::opt {

struct LoadSettings {
  std::string path;
  std::string cache;                        // beginning of the names of binary caches; "" = none
  int threads = 1;
  // Given for data that a model is tried on: other labels are refused, and columns from `width` on
  // are left out, since their weights are 0.
  std::optional<LabelPair> labels;
  std::uint32_t width = 0;
  ReadProgress progress;                    // of this rank's part
};

// What one process reads of a file, before labels are mapped. invalid_argument: FILE:LINE:COLUMN
// and the reason.
Result<ReadPart> read_part(const std::string& path, Part part, int threads,
                           const ReadProgress& progress = {});

// Collective.
Result<Dataset> load(Engine& engine, const LoadSettings& settings);

}  // namespace unisono::opt
