// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Something that can be measured: a group of processes, or the machine's memory itself.
#pragma once

#include <string>
#include <vector>

#include "bench/settings.hpp"
#include "unisono/status.hpp"

namespace unisono::tools {

struct Label {
  std::string impl, algorithm, transport;

  bool ours() const { return impl.starts_with("unisono"); }
  bool limit() const { return impl == "limit"; }
  // The heading of its column; names the algorithm where one was chosen.
  std::string heading() const {
    return ours() && algorithm != "auto" ? impl + ":" + algorithm : impl;
  }
};

// The times of one block of iterations, as rank 0 saw them.
struct Block {
  std::vector<double> times_us;
  double wall_us = 0;
  bool checked = false;
};

class Contender {
 public:
  virtual ~Contender() = default;
  virtual const Label& label() const = 0;
  // unavailable: it cannot do this work, with the reason; any other error: it is broken.
  virtual Status set_up(const Work& work) = 0;
  virtual Result<Block> run_block(int iterations, int seed) = 0;
  // Why it ran the algorithms it ran, in words; "" when it has nothing to say.
  virtual Result<std::string> explain() { return std::string(); }
  // What it printed last, to explain an error.
  virtual std::string last_words() const { return ""; }
};

}  // namespace unisono::tools
