// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A progress bar on standard error where that is a terminal, a line now and then where it is not.
#pragma once

namespace mlp {

class Progress {
 public:
  explicit Progress(int steps, bool shown);
  void step(int done, float loss, float accuracy);

 private:
  int steps_;
  bool shown_;
  bool terminal_;
};

}  // namespace mlp
