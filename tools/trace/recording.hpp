// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a trace says, as values: the buckets of all ranks with their tensors, all times on one
// clock.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "unisono/status.hpp"

namespace unisono::tools {

struct TensorRecord {
  std::uint32_t name = 0;                   // in Recording::names
  std::uint64_t bytes = 0;
  double ready_us = 0, agreed_us = 0;
};

struct BucketRecord {
  int rank = 0;
  std::uint32_t set = 0;
  std::uint64_t id = 0;                     // the same on all members of the set
  std::uint32_t kind = 0;                   // in Recording::names
  std::uint64_t bytes = 0;
  double begun_us = 0, packed_us = 0, joined_us = 0, moved_us = 0, done_us = 0;
  std::size_t first = 0, count = 0;         // in Recording::tensors
};

// How well the times of a rank fit those of the lowest one, as the merger found it.
struct ClockRecord {
  std::string by;                           // "" when nothing was merged
  double offset_us = 0, uncertain_us = 0;   // uncertain_us < 0: nobody knows
};

struct Recording {
  std::vector<std::string> names;
  std::vector<BucketRecord> buckets;
  std::vector<TensorRecord> tensors;
  std::map<int, ClockRecord> ranks;
  std::uint64_t missed = 0;                 // tensors that came too fast to be written

  std::span<const TensorRecord> of(const BucketRecord& bucket) const {
    return {tensors.data() + bucket.first, bucket.count};
  }
};

// Reads a trace as ranks or the launcher write it: events to a line, of which those of buckets
// count. An error names the file, the line and the reason.
Result<Recording> read_recording(const std::string& path);

}  // namespace unisono::tools
