// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The networks of papers 000 and 002, and one that is nothing but control.
#include "base/data/text.hpp"
#include "sim/workload/layers/models.hpp"

namespace unisono::sim {

// Five convolutions of 128 filters on images of 224 x 224 and one small dense layer.
void build_hep_cnn(Layers& net) {
  constexpr int kFilters = 128;
  int in = 3;
  for (int i = 0; i < 5; ++i) {
    net.convolution(cat("conv", i + 1), in, kFilters, 3, 224 >> i, true);
    in = kFilters;
  }
  net.linear("fc1", kFilters, 2);
}

// A generator from 64 numbers to maps of 256 x 256, then the discriminator, its mirror image. A
// step runs the generator once forward and backward (3 passes of work), the discriminator forward
// over real and made maps, backward over both, and once more backward to reach the generator (7).
void build_cosmogan(Layers& net) {
  net.linear("generator.h0", 64, 512 * 16 * 16);
  net.normalisation("generator.bn0", 512, 16);
  for (int i = 1; i <= 4; ++i) {
    const int in = 1024 >> i, out = i == 4 ? 1 : in / 2, side = 8 << i;
    net.convolution(cat("generator.h", i), in, out, 5, side, true);
    if (i < 4) net.normalisation(cat("generator.bn", i), out, 2 * side);
  }
  const std::size_t discriminator = net.list().size();
  for (int i = 0; i < 4; ++i) {
    const int in = i == 0 ? 1 : 32 << i, out = 64 << i, side = 128 >> i;
    net.convolution(cat("discriminator.h", i), in, out, 5, side, true);
    if (i > 0) net.normalisation(cat("discriminator.bn", i), out, side);
  }
  net.linear("discriminator.h4", 512 * 16 * 16, 1);
  net.scale_work(discriminator, 7.0 / 3);
}

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
  net.table("last.weight", 220'000'000 - net.elements(), 1e9);
}

void build_tiny(Layers& net) {
  for (int i = 0; i < 4; ++i) net.table(cat("t", i), 256);
}

}  // namespace unisono::sim
