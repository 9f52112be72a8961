// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace mlp {
namespace {

constexpr int kBarWidth = 30;
constexpr int kLines = 6;

}  // namespace

Progress::Progress(int steps, bool shown)
    : steps_(steps), shown_(shown), terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::step(int done, float loss, float accuracy) {
  if (!shown_) return;
  const bool last = done == steps_;
  if (!terminal_ && !last && done % std::max(1, steps_ / kLines) != 0) return;
  std::string bar(static_cast<std::size_t>(done * kBarWidth / steps_), '#');
  bar.resize(kBarWidth, '.');
  std::fprintf(stderr, "%s[%s] step %d/%d  loss %.3f  accuracy %.1f %%%s", terminal_ ? "\r" : "",
               bar.c_str(), done, steps_, static_cast<double>(loss),
               static_cast<double>(accuracy) * 100, terminal_ && !last ? "" : "\n");
  std::fflush(stderr);
}

}  // namespace mlp
