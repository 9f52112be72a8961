// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Networks of few parameters in many tensors: DenseNet and EfficientNet, 224 x 224, 1000 classes.
#include "base/data/text.hpp"
#include "sim/workload/layers/models.hpp"

namespace unisono::sim {

void build_densenet121(Layers& net) {
  constexpr int kGrowth = 32, kBottleneck = 4 * kGrowth, kDepths[] = {6, 12, 24, 16};
  net.convolution("conv0", 3, 64, 7, 112, false);
  net.normalisation("norm0", 64, 112);
  int width = 64, side = 56;
  for (int block = 0; block < 4; ++block) {
    for (int i = 0; i < kDepths[block]; ++i, width += kGrowth) {
      const std::string at = cat("denseblock", block + 1, ".denselayer", i + 1, ".");
      net.normalisation(at + "norm1", width, side);
      net.convolution(at + "conv1", width, kBottleneck, 1, side, false);
      net.normalisation(at + "norm2", kBottleneck, side);
      net.convolution(at + "conv2", kBottleneck, kGrowth, 3, side, false);
    }
    if (block == 3) break;
    const std::string at = cat("transition", block + 1, ".");
    net.normalisation(at + "norm", width, side);
    net.convolution(at + "conv", width, width / 2, 1, side, false);
    width /= 2;
    side /= 2;
  }
  net.normalisation("norm5", width, side);
  net.linear("classifier", width, 1000);
}

void build_efficientnet_b0(Layers& net) {
  struct Stage {
    int expansion, kernel, out, blocks, side;
  };
  constexpr Stage kStages[] = {{1, 3, 16, 1, 112}, {6, 3, 24, 2, 56},  {6, 5, 40, 2, 28},
                               {6, 3, 80, 3, 14},  {6, 5, 112, 3, 14}, {6, 5, 192, 4, 7},
                               {6, 3, 320, 1, 7}};
  net.normalised("features.0", 3, 32, 3, 112);
  int in = 32, before = 112, number = 0;
  for (const Stage& stage : kStages) {
    ++number;
    for (int block = 0; block < stage.blocks; ++block) {
      const std::string at = cat("features.", number, ".", block, ".");
      const int wide = in * stage.expansion, squeezed = in / 4;
      if (wide != in) net.normalised(at + "expand", in, wide, 1, before);
      net.normalised(at + "depthwise", wide, wide, stage.kernel, stage.side, wide);
      net.convolution(at + "squeeze", wide, squeezed, 1, 1, true);
      net.convolution(at + "excite", squeezed, wide, 1, 1, true);
      net.normalised(at + "project", wide, stage.out, 1, stage.side);
      in = stage.out;
      before = stage.side;
    }
  }
  net.normalised("features.8", in, 1280, 1, before);
  net.linear("classifier", 1280, 1000);
}

}  // namespace unisono::sim
