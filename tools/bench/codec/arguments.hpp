// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The command line of `unisono bench codec`, checked before anything is measured.
#pragma once

#include <string>
#include <vector>

#include "bench/codec/settings.hpp"

namespace unisono::tools {

struct CodecArguments {
  CodecBenchSettings settings;
  int exit_code = -1;                        // >= 0: nothing is left to do, exit with this
};

CodecArguments parse_codec_arguments(std::vector<std::string> arguments);

// What --codec all means: every way that values travel, and the usual compositions.
std::vector<std::string> usual_codecs();

}  // namespace unisono::tools
