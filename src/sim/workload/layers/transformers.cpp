// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/data/text.hpp"
#include "sim/workload/layers/models.hpp"

namespace unisono::sim {

void build_bert(Layers& net) {
  constexpr int kWidth = 768, kTokens = 128;
  net.table("embeddings.word", std::int64_t{30522} * kWidth);
  net.table("embeddings.position", 512 * kWidth);
  net.table("embeddings.type", 2 * kWidth);
  net.normalisation("embeddings.norm", kWidth, 11);
  for (int i = 0; i < 12; ++i) {
    const std::string at = cat("layer.", i, ".");
    for (const char* part : {"query", "key", "value", "output"}) {
      net.linear(cat(at, "attention.", part), kWidth, kWidth, kTokens);
    }
    net.normalisation(at + "attention.norm", kWidth, 11);
    net.linear(at + "intermediate", kWidth, 4 * kWidth, kTokens);
    net.linear(at + "output", 4 * kWidth, kWidth, kTokens);
    net.normalisation(at + "norm", kWidth, 11);
  }
  net.linear("pooler", kWidth, kWidth);
}

}  // namespace unisono::sim
