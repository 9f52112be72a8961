// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The machine's own limit for an allreduce within one host: every input read once and every output
// written once, 2 * ranks * bytes through memory, by as many threads as there are ranks. In place,
// as the allreduce is. What an engine needs beyond this is its overhead.
// Threads live for one block only: an idle limit uses no CPU.
#pragma once

#include <vector>

#include "bench/buffer.hpp"
#include "bench/contender.hpp"

namespace unisono::tools {

class MemoryLimit final : public Contender {
 public:
  explicit MemoryLimit(int ranks) : ranks_(ranks) {}
  const Label& label() const override { return label_; }
  Status set_up(const Work& work) override;
  Result<Block> run_block(int iterations, int seed) override;

 private:
  // One pass of one thread over its slice of all buffers.
  void pass(std::size_t begin, std::size_t end) const;
  std::size_t slice_start(int rank) const;

  Label label_{"limit", "read-write", "memory"};
  int ranks_;
  std::vector<Buffer> buffers_;
  std::size_t bytes_ = 0;                    // of one buffer, whole vectors
};

}  // namespace unisono::tools
