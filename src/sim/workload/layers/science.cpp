// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/data/text.hpp"
#include "sim/workload/layers/models.hpp"

namespace unisono::sim {

// The published facts are its kind, its 220 million parameters and 880 MB of gradients. The layout
// here is a dense net of that size: five blocks down, five up, growth chosen to meet the total.
void build_stemdl(Layers& net) {
  constexpr int kGrowth = 128, kLayersPerBlock = 9, kBlocks = 5;
  net.convolution("first", 1, 256, 3, 256, false);
  int width = 256;
  for (int block = 0; block < 2 * kBlocks; ++block) {
    const int level = block < kBlocks ? block : 2 * kBlocks - 1 - block;
    const int side = 256 >> level;
    for (int i = 0; i < kLayersPerBlock; ++i) {
      const std::string at = cat("block", block, ".layer", i);
      net.normalisation(at + ".norm", width, side);
      net.convolution(at + ".conv", width, kGrowth, 3, side, false);
      width += kGrowth;
    }
    const int kept = width / 2;
    net.convolution(cat("transition", block), width, kept, 1, side, false);
    width = kept;
  }
  std::int64_t elements = 0;
  for (const Layer& layer : net.list()) {
    for (const LayerTensor& tensor : layer.tensors) elements += tensor.elements;
  }
  net.table("last.weight", 220'000'000 - elements, 1e9);
}

void build_tiny(Layers& net) {
  for (int i = 0; i < 4; ++i) net.table(cat("t", i), 256);
}

}  // namespace unisono::sim
