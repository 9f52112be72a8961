// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Events of a trace as ranks write them, with figures of a test.
#pragma once

#include <string>
#include <vector>

#include "base/data/text.hpp"

namespace unisono::tools {

inline std::string clock_line(int rank, const std::string& clock, double steady, double wall) {
  return cat("{\"name\":\"clock\",\"ph\":\"M\",\"pid\":", rank, ",\"tid\":0,\"args\":{\"clock\":\"",
             clock, "\",\"steady_us\":", steady, ",\"wall_us\":", wall, "}}");
}

struct TensorLine {
  std::string name;
  std::uint64_t bytes = 4;
  double ready_before_us = 10;
};

// A bucket that begins at `begun` and takes so long to move, and nothing to pack or unpack.
inline std::string bucket_line(int rank, int bucket, double begun, double moved,
                               const std::vector<TensorLine>& tensors = {{"t"}}) {
  std::string list;
  std::uint64_t bytes = 0;
  for (const TensorLine& tensor : tensors) {
    if (!list.empty()) list += ',';
    bytes += tensor.bytes;
    list += cat("{\"name\":\"", tensor.name, "\",\"bytes\":", tensor.bytes,
                ",\"ready_before_us\":", tensor.ready_before_us, ",\"agreed_before_us\":5}");
  }
  return cat("{\"name\":\"x\",\"cat\":\"bucket\",\"ph\":\"X\",\"pid\":", rank,
             ",\"tid\":65,\"ts\":", begun, ",\"dur\":", moved, ",\"args\":{\"set\":0,\"bucket\":",
             bucket, ",\"kind\":\"allreduce\",\"bytes\":", bytes,
             ",\"packed_after_us\":0,\"joined_after_us\":0,\"moved_after_us\":", moved,
             ",\"tensors\":[", list, "]}}");
}

inline std::string event_file(const std::vector<std::string>& lines) {
  return cat("[\n", join_text(lines, ",\n"), "\n]\n");
}

}  // namespace unisono::tools
