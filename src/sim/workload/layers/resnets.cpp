// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/data/text.hpp"
#include "sim/workload/layers/models.hpp"

namespace unisono::sim {

void build_resnet50(Layers& net) {
  net.convolution("conv1", 3, 64, 7, 112, false);
  net.normalisation("bn1", 64, 112);
  const int blocks[] = {3, 4, 6, 3};
  int in = 64;
  for (int stage = 0; stage < 4; ++stage) {
    const int width = 64 << stage, out = 4 * width, side = 56 >> stage;
    for (int block = 0; block < blocks[stage]; ++block) {
      const std::string at = cat("layer", stage + 1, ".", block, ".");
      const int before = block == 0 && stage > 0 ? 2 * side : side;
      net.convolution(at + "conv1", in, width, 1, before, false);
      net.normalisation(at + "bn1", width, before);
      net.convolution(at + "conv2", width, width, 3, side, false);
      net.normalisation(at + "bn2", width, side);
      net.convolution(at + "conv3", width, out, 1, side, false);
      net.normalisation(at + "bn3", out, side);
      if (block == 0) {
        net.convolution(at + "downsample.0", in, out, 1, side, false);
        net.normalisation(at + "downsample.1", out, side);
      }
      in = out;
    }
  }
  net.linear("fc", 2048, 1000);
}

}  // namespace unisono::sim
