// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes one tensor by all codecs in turns, and checks what comes out. Thread: one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/codec/settings.hpp"
#include "unisono/status.hpp"

namespace unisono::tools {

struct CodecBenchRow {
  std::string codec;
  std::uint64_t length = 0, bytes = 0;       // of the tensor
  std::uint64_t bytes_out = 0;               // of the last packet
  std::vector<double> encode_us, decode_us;
  double memcpy_us = 0;                      // the median of a copy of the tensor
  double error = 0;                          // norm of what the first packet leaves out, over all
  bool checked = false;

  double ratio() const { return static_cast<double>(bytes) / static_cast<double>(bytes_out); }
};

using CodecProgress = std::function<void(double done, const std::string& now)>;

// Size by size, codec by codec. The error names the codec; corrupted: what came out was wrong.
Result<std::vector<CodecBenchRow>> measure_codecs(const CodecBenchSettings& settings,
                                                  const CodecProgress& progress);

}  // namespace unisono::tools
