// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What `unisono bench codec` was asked for. A value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "unisono/types.hpp"

namespace unisono::tools {

struct CodecBenchSettings {
  std::vector<std::string> codecs;           // as parse_codec() reads them
  std::vector<std::uint64_t> lengths;        // of the tensor
  DType dtype = DType::f32;
  int repeat = 9;                            // turns of each codec
  std::uint64_t seed = 1;
  std::string json;                          // a path; - is standard output
  bool quiet = false;
  std::string command;                       // the line as typed, for the report
};

}  // namespace unisono::tools
