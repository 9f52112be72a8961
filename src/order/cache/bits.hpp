// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Sets of cache positions on the wire: runs of bytes with one bit a position, only where there are
// bits, or the steps from each position to the next, whichever is shorter.
#pragma once

#include <cstdint>
#include <vector>

#include "base/data/bytes.hpp"

namespace unisono::order {

// Ascending, each once.
void put_positions(ByteWriter& out, const std::vector<std::uint32_t>& positions);
// Fails the reader on anything that is not such a set.
std::vector<std::uint32_t> get_positions(ByteReader& in);

}  // namespace unisono::order
