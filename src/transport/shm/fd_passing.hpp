// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Passes fixed-size messages with descriptors over a unix socket, with a deadline on every wait.
// Used once per pair of processes, before the engine runs; blocks.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "base/os/fd.hpp"
#include "unisono/status.hpp"

namespace unisono::transport {

using PassingDeadline = std::chrono::steady_clock::time_point;

Status pass(int socket, std::span<const std::byte> message, std::span<const int> descriptors,
            PassingDeadline deadline);
// Fills the whole message; returns the descriptors that came with it, at most `most`.
Result<std::vector<Fd>> take_passed(int socket, std::span<std::byte> message, std::size_t most,
                                    PassingDeadline deadline);

}  // namespace unisono::transport
