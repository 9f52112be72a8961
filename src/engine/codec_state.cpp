// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What codecs keep, out of an engine and into it again.
#include "encode/feedback/codec_memory.hpp"
#include "engine/core.hpp"

namespace unisono {
namespace {

Status check_idle(const encode::CodecMemory& memory) {
  if (memory.under_way == 0) return {};
  return Status(Code::invalid_argument, "an allreduce with a codec is on its way, and changes what "
                                        "the codec keeps; wait for it first");
}

}  // namespace

Result<std::vector<std::byte>> Engine::codec_state() const {
  encode::CodecMemory& memory = core_->codec_memory();
  const std::lock_guard lock(memory.mutex);
  if (auto status = check_idle(memory); !status) return status;
  return memory.feedback.save();
}

Status Engine::load_codec_state(std::span<const std::byte> state) {
  encode::CodecMemory& memory = core_->codec_memory();
  const std::lock_guard lock(memory.mutex);
  if (auto status = check_idle(memory); !status) return status;
  return memory.feedback.load(state);
}

Result<std::vector<float>> Engine::take_residual(std::string_view tensor) {
  encode::CodecMemory& memory = core_->codec_memory();
  const std::lock_guard lock(memory.mutex);
  if (auto status = check_idle(memory); !status) return status;
  return memory.feedback.flush(tensor);
}

Result<std::vector<std::vector<std::byte>>> redistribute_codec_states(
    std::span<const std::vector<std::byte>> states, std::size_t size) {
  std::vector<encode::Feedback> ranks(states.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (auto status = ranks[r].load(states[r]); !status) return status;
  }
  const auto moved = encode::redistribute(ranks, size);
  if (!moved.ok()) return moved.status();
  std::vector<std::vector<std::byte>> out;
  for (const encode::Feedback& rank : moved.value()) out.push_back(rank.save());
  return out;
}

}  // namespace unisono
