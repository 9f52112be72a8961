// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// GoogLeNet (224 x 224, convolutions with biases, no normalisation) and Inception-v3 (299 x 299).
#include "base/data/text.hpp"
#include "sim/workload/layers/models.hpp"

namespace unisono::sim {
namespace {

// The classifiers that hang on two modules while the network is trained.
void auxiliary(Layers& net, const std::string& at, int in) {
  net.convolution(at + "conv", in, 128, 1, 4, true);
  net.linear(at + "fc1", 2048, 1024);
  net.linear(at + "fc2", 1024, 1000);
}

void googlenet(Layers& net, bool with_auxiliary) {
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
    if (!with_auxiliary) continue;
    if (m.name == std::string_view("4a")) auxiliary(net, "aux1.", 512);
    if (m.name == std::string_view("4d")) auxiliary(net, "aux2.", 528);
  }
  net.linear("fc", 1024, 1000);
}

// The modules of Inception-v3 bear the letters of its usual implementation. Each returns the
// channels that it hands on.
int module_a(Layers& net, const std::string& at, int in, int pool) {
  net.normalised(at + "1x1", in, 64, 1, 35);
  net.normalised(at + "5x5_1", in, 48, 1, 35);
  net.normalised(at + "5x5_2", 48, 64, 5, 35);
  net.normalised(at + "3x3dbl_1", in, 64, 1, 35);
  net.normalised(at + "3x3dbl_2", 64, 96, 3, 35);
  net.normalised(at + "3x3dbl_3", 96, 96, 3, 35);
  net.normalised(at + "pool", in, pool, 1, 35);
  return 64 + 64 + 96 + pool;
}

int module_b(Layers& net, const std::string& at, int in) {
  net.normalised(at + "3x3", in, 384, 3, 17);
  net.normalised(at + "3x3dbl_1", in, 64, 1, 35);
  net.normalised(at + "3x3dbl_2", 64, 96, 3, 35);
  net.normalised(at + "3x3dbl_3", 96, 96, 3, 17);
  return 384 + 96 + in;
}

int module_c(Layers& net, const std::string& at, int in, int width) {
  const Kernel wide(1, 7), tall(7, 1);
  net.normalised(at + "1x1", in, 192, 1, 17);
  net.normalised(at + "7x7_1", in, width, 1, 17);
  net.normalised(at + "7x7_2", width, width, wide, 17);
  net.normalised(at + "7x7_3", width, 192, tall, 17);
  net.normalised(at + "7x7dbl_1", in, width, 1, 17);
  net.normalised(at + "7x7dbl_2", width, width, tall, 17);
  net.normalised(at + "7x7dbl_3", width, width, wide, 17);
  net.normalised(at + "7x7dbl_4", width, width, tall, 17);
  net.normalised(at + "7x7dbl_5", width, 192, wide, 17);
  net.normalised(at + "pool", in, 192, 1, 17);
  return 4 * 192;
}

int module_d(Layers& net, const std::string& at, int in) {
  net.normalised(at + "3x3_1", in, 192, 1, 17);
  net.normalised(at + "3x3_2", 192, 320, 3, 8);
  net.normalised(at + "7x7x3_1", in, 192, 1, 17);
  net.normalised(at + "7x7x3_2", 192, 192, Kernel(1, 7), 17);
  net.normalised(at + "7x7x3_3", 192, 192, Kernel(7, 1), 17);
  net.normalised(at + "7x7x3_4", 192, 192, 3, 8);
  return 320 + 192 + in;
}

int module_e(Layers& net, const std::string& at, int in) {
  const Kernel wide(1, 3), tall(3, 1);
  net.normalised(at + "1x1", in, 320, 1, 8);
  net.normalised(at + "3x3_1", in, 384, 1, 8);
  net.normalised(at + "3x3_2a", 384, 384, wide, 8);
  net.normalised(at + "3x3_2b", 384, 384, tall, 8);
  net.normalised(at + "3x3dbl_1", in, 448, 1, 8);
  net.normalised(at + "3x3dbl_2", 448, 384, 3, 8);
  net.normalised(at + "3x3dbl_3a", 384, 384, wide, 8);
  net.normalised(at + "3x3dbl_3b", 384, 384, tall, 8);
  net.normalised(at + "pool", in, 192, 1, 8);
  return 320 + 4 * 384 + 192;
}

}  // namespace

void build_googlenet(Layers& net) { googlenet(net, false); }
void build_googlenet_aux(Layers& net) { googlenet(net, true); }

void build_inception_v3(Layers& net) {
  net.normalised("1a", 3, 32, 3, 149);
  net.normalised("2a", 32, 32, 3, 147);
  net.normalised("2b", 32, 64, 3, 147);
  net.normalised("3b", 64, 80, 1, 73);
  net.normalised("4a", 80, 192, 3, 71);
  int channels = module_a(net, "5b.", 192, 32);
  channels = module_a(net, "5c.", channels, 64);
  channels = module_a(net, "5d.", channels, 64);
  channels = module_b(net, "6a.", channels);
  channels = module_c(net, "6b.", channels, 128);
  channels = module_c(net, "6c.", channels, 160);
  channels = module_c(net, "6d.", channels, 160);
  channels = module_c(net, "6e.", channels, 192);
  channels = module_d(net, "7a.", channels);
  channels = module_e(net, "7b.", channels);
  channels = module_e(net, "7c.", channels);
  net.linear("fc", channels, 1000);
}

}  // namespace unisono::sim
