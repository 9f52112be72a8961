// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The results of a row as bytes, from the process that played it to the one that shows it: two
// processes of one program, so that nothing is versioned.
#pragma once

#include "base/data/bytes.hpp"
#include "simulate/report.hpp"

namespace unisono::tools {

void put_row(ByteWriter& out, const SimulatedRow& row);
SimulatedRow get_row(ByteReader& in);   // check in.finished() afterwards

}  // namespace unisono::tools
