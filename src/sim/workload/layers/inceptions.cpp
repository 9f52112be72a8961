// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/data/text.hpp"
#include "sim/workload/layers/models.hpp"

namespace unisono::sim {

void build_googlenet(Layers& net) {
  net.convolution("conv1", 3, 64, 7, 112, true);
  net.convolution("conv2.reduce", 64, 64, 1, 56, true);
  net.convolution("conv2", 64, 192, 3, 56, true);
  struct Inception {
    const char* name;
    int in, one, three_reduce, three, five_reduce, five, pool, side;
  };
  constexpr Inception kModules[] = {
      {"3a", 192, 64, 96, 128, 16, 32, 32, 28},    {"3b", 256, 128, 128, 192, 32, 96, 64, 28},
      {"4a", 480, 192, 96, 208, 16, 48, 64, 14},   {"4b", 512, 160, 112, 224, 24, 64, 64, 14},
      {"4c", 512, 128, 128, 256, 24, 64, 64, 14},  {"4d", 512, 112, 144, 288, 32, 64, 64, 14},
      {"4e", 528, 256, 160, 320, 32, 128, 128, 14}, {"5a", 832, 256, 160, 320, 32, 128, 128, 7},
      {"5b", 832, 384, 192, 384, 48, 128, 128, 7}};
  for (const Inception& m : kModules) {
    const std::string at = cat("inception", m.name, ".");
    net.convolution(at + "1x1", m.in, m.one, 1, m.side, true);
    net.convolution(at + "3x3.reduce", m.in, m.three_reduce, 1, m.side, true);
    net.convolution(at + "3x3", m.three_reduce, m.three, 3, m.side, true);
    net.convolution(at + "5x5.reduce", m.in, m.five_reduce, 1, m.side, true);
    net.convolution(at + "5x5", m.five_reduce, m.five, 5, m.side, true);
    net.convolution(at + "pool", m.in, m.pool, 1, m.side, true);
  }
  net.linear("fc", 1024, 1000);
}

}  // namespace unisono::sim
