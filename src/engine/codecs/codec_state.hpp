// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the codecs of an engine keep, out of it and into it again. Refused while an allreduce with a
// codec is on its way, which changes it. Thread: any.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "encode/feedback/codec_memory.hpp"
#include "unisono/status.hpp"

namespace unisono::engine {

using CodecState = std::vector<std::byte>;

Result<CodecState> save_codecs(encode::CodecMemory& memory);
Status load_codecs(encode::CodecMemory& memory, std::span<const std::byte> state);
Result<std::vector<float>> take_residual(encode::CodecMemory& memory, std::string_view tensor);
// Pure.
Result<std::vector<CodecState>> redistribute(std::span<const CodecState> states, std::size_t size);

}  // namespace unisono::engine
