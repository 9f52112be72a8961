// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// `unisono bench codec`: measures codecs in this process.
#pragma once

#include <string>
#include <vector>

namespace unisono::tools {

// arguments: those after `bench codec`. Returns the exit code.
int bench_codec_command(std::vector<std::string> arguments);

}  // namespace unisono::tools
