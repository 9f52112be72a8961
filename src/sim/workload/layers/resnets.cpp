// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Residual networks for images of 224 x 224 and 1000 classes. The stride of a bottleneck lies in
// its 3 x 3 convolution, as in the implementations of today.
#include <array>

#include "base/data/text.hpp"
#include "sim/workload/layers/models.hpp"

namespace unisono::sim {
namespace {

using Blocks = std::array<int, 4>;      // in each stage

void image_stem(Layers& net) {
  net.convolution("conv1", 3, 64, 7, 112, false);
  net.normalisation("bn1", 64, 112);
}

void shortcut(Layers& net, const std::string& at, int in, int out, int side) {
  net.convolution(at + "downsample.0", in, out, 1, side, false);
  net.normalisation(at + "downsample.1", out, side);
}

void basic_resnet(Layers& net, const Blocks& blocks) {
  image_stem(net);
  int in = 64;
  for (int stage = 0; stage < 4; ++stage) {
    const int width = 64 << stage, side = 56 >> stage;
    for (int block = 0; block < blocks[static_cast<std::size_t>(stage)]; ++block) {
      const std::string at = cat("layer", stage + 1, ".", block, ".");
      net.convolution(at + "conv1", in, width, 3, side, false);
      net.normalisation(at + "bn1", width, side);
      net.convolution(at + "conv2", width, width, 3, side, false);
      net.normalisation(at + "bn2", width, side);
      if (in != width) shortcut(net, at, in, width, side);
      in = width;
    }
  }
  net.linear("fc", in, 1000);
}

void bottleneck_resnet(Layers& net, const Blocks& blocks) {
  image_stem(net);
  int in = 64;
  for (int stage = 0; stage < 4; ++stage) {
    const int width = 64 << stage, out = 4 * width, side = 56 >> stage;
    for (int block = 0; block < blocks[static_cast<std::size_t>(stage)]; ++block) {
      const std::string at = cat("layer", stage + 1, ".", block, ".");
      const int before = block == 0 && stage > 0 ? 2 * side : side;
      net.convolution(at + "conv1", in, width, 1, before, false);
      net.normalisation(at + "bn1", width, before);
      net.convolution(at + "conv2", width, width, 3, side, false);
      net.normalisation(at + "bn2", width, side);
      net.convolution(at + "conv3", width, out, 1, side, false);
      net.normalisation(at + "bn3", out, side);
      if (block == 0) shortcut(net, at, in, out, side);
      in = out;
    }
  }
  net.linear("fc", in, 1000);
}

}  // namespace

void build_resnet18(Layers& net) { basic_resnet(net, {2, 2, 2, 2}); }
void build_resnet34(Layers& net) { basic_resnet(net, {3, 4, 6, 3}); }
void build_resnet50(Layers& net) { bottleneck_resnet(net, {3, 4, 6, 3}); }
void build_resnet101(Layers& net) { bottleneck_resnet(net, {3, 4, 23, 3}); }
void build_resnet152(Layers& net) { bottleneck_resnet(net, {3, 8, 36, 3}); }

}  // namespace unisono::sim
