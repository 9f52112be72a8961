// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the codecs of all ranks kept, for a job of another size. Thread: any.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "encode/feedback/feedback.hpp"
#include "unisono/status.hpp"

namespace unisono::engine {

using CodecState = std::vector<std::byte>;

// Pure.
Result<std::vector<CodecState>> redistribute(std::span<const CodecState> states, std::size_t size);

}  // namespace unisono::engine
