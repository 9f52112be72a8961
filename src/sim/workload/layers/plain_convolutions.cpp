// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions one after another, then three large dense layers: AlexNet (one column) and VGG.
#include <array>

#include "base/data/text.hpp"
#include "sim/workload/layers/models.hpp"

namespace unisono::sim {
namespace {

void vgg(Layers& net, const std::array<int, 5>& depths) {
  const int widths[] = {64, 128, 256, 512, 512};
  int in = 3, index = 0;
  for (int stage = 0; stage < 5; ++stage) {
    for (int i = 0; i < depths[static_cast<std::size_t>(stage)]; ++i, index += 2) {
      net.convolution(cat("features.", index), in, widths[stage], 3, 224 >> stage, true);
      in = widths[stage];
    }
    ++index;
  }
  net.linear("classifier.0", 25088, 4096);
  net.linear("classifier.3", 4096, 4096);
  net.linear("classifier.6", 4096, 1000);
}

}  // namespace

void build_alexnet(Layers& net) {
  net.convolution("features.0", 3, 64, 11, 55, true);
  net.convolution("features.3", 64, 192, 5, 27, true);
  net.convolution("features.6", 192, 384, 3, 13, true);
  net.convolution("features.8", 384, 256, 3, 13, true);
  net.convolution("features.10", 256, 256, 3, 13, true);
  net.linear("classifier.1", 9216, 4096);
  net.linear("classifier.4", 4096, 4096);
  net.linear("classifier.6", 4096, 1000);
}

void build_vgg16(Layers& net) { vgg(net, {2, 2, 3, 3, 3}); }
void build_vgg19(Layers& net) { vgg(net, {2, 2, 4, 4, 4}); }

}  // namespace unisono::sim
