// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/layers.hpp"

#include "base/data/text.hpp"

namespace unisono::sim {

void Layers::convolution(const std::string& name, int in, int out, int k, int side, bool bias) {
  const std::int64_t weights = std::int64_t{in} * out * k * k;
  Layer layer{{{name + ".weight", weights}}, static_cast<double>(weights) * side * side};
  if (bias) layer.tensors.push_back({name + ".bias", out});
  list_.push_back(std::move(layer));
}

void Layers::normalisation(const std::string& name, int channels, int side) {
  list_.push_back({{{name + ".weight", channels}, {name + ".bias", channels}},
                   8.0 * channels * side * side});
}

void Layers::linear(const std::string& name, int in, int out, int rows) {
  const std::int64_t weights = std::int64_t{in} * out;
  list_.push_back({{{name + ".weight", weights}, {name + ".bias", out}},
                   static_cast<double>(weights) * rows});
}

void Layers::table(const std::string& name, std::int64_t elements, double work) {
  list_.push_back({{{name, elements}}, work});
}

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

void build_vgg16(Layers& net) {
  const int widths[] = {64, 128, 256, 512, 512}, depths[] = {2, 2, 3, 3, 3};
  int in = 3, index = 0;
  for (int stage = 0; stage < 5; ++stage) {
    for (int i = 0; i < depths[stage]; ++i, index += 2) {
      net.convolution(cat("features.", index), in, widths[stage], 3, 224 >> stage, true);
      in = widths[stage];
    }
    ++index;
  }
  net.linear("classifier.0", 25088, 4096);
  net.linear("classifier.3", 4096, 4096);
  net.linear("classifier.6", 4096, 1000);
}

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
