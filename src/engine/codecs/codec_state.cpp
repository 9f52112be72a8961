// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/codecs/codec_state.hpp"

namespace unisono::engine {
namespace {

Status check_idle(const encode::CodecMemory& memory) {
  if (memory.under_way == 0) return {};
  return Status(Code::invalid_argument, "an allreduce with a codec is on its way, and changes what "
                                        "the codec keeps; wait for it first");
}

}  // namespace

Result<CodecState> save_codecs(encode::CodecMemory& memory) {
  const std::lock_guard lock(memory.mutex);
  if (auto status = check_idle(memory); !status) return status;
  return memory.feedback.save();
}

Status load_codecs(encode::CodecMemory& memory, std::span<const std::byte> state) {
  const std::lock_guard lock(memory.mutex);
  if (auto status = check_idle(memory); !status) return status;
  return memory.feedback.load(state);
}

Result<std::vector<float>> take_residual(encode::CodecMemory& memory, std::string_view tensor) {
  const std::lock_guard lock(memory.mutex);
  if (auto status = check_idle(memory); !status) return status;
  return memory.feedback.flush(tensor);
}

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
