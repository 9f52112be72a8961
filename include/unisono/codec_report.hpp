// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What codecs that pick, quantise or factor have saved so far on this rank, and which part of what
// they keep somebody wants. Values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "unisono/types.hpp"

namespace unisono {

// What is kept of these tensors of a process set, and of their parts (NAME/part.3).
struct CodecPart {
  std::vector<std::string> tensors = {};
  std::uint32_t process_set = 0;
  // Only what all ranks have alike: how many steps there were, and the factors of the last one.
  // What a rank has not sent stays its own.
  bool shared = false;
};

struct CodecReport {
  std::string codec;
  std::uint64_t tensors = 0;                // that were encoded
  std::uint64_t bytes = 0;                  // of them as they were
  std::uint64_t packed_bytes = 0;           // and encoded: bytes / packed_bytes is the ratio
  std::uint64_t skipped = 0;                // tensors that held NaN or an infinity on some rank
  double residual_norm = 0;                 // of all that its tensors have not sent yet
  std::string exchange;                     // in a sentence: how it travelled last, and why so
};

}  // namespace unisono
