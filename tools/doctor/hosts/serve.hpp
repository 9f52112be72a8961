// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// `unisono doctor --serve`: what a doctor starts on another host to measure the way to it. Not for
// people; not part of the command's interface.
//
// Reads the key of the measurement from standard input, prints where it listens, and serves those
// who have the key (traffic.hpp). To each further line "clock" it answers with its wall clock. Ends
// when standard input ends, and after ten seconds in any case.
#pragma once

namespace unisono::tools {

int serve_as_doctor();

}  // namespace unisono::tools
