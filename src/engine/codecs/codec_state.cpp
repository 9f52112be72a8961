// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/codecs/codec_state.hpp"

namespace unisono::engine {

Result<std::vector<CodecState>> redistribute(std::span<const CodecState> states,
                                             std::size_t size) {
  std::vector<encode::Feedback> ranks(states.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (auto status = ranks[r].load(states[r]); !status) return status;
  }
  const auto moved = encode::redistribute(ranks, size);
  if (!moved.ok()) return moved.status();
  std::vector<CodecState> out;
  for (const encode::Feedback& rank : moved.value()) out.push_back(rank.save());
  return out;
}

}  // namespace unisono::engine
