// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Networks as lists of layers in forward order, made from their architecture. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace unisono::sim {

struct LayerTensor {
  std::string name;
  std::int64_t elements;
};

struct Layer {
  std::vector<LayerTensor> tensors;     // none: work between layers
  double work;                          // multiply-adds; only ratios matter
};

struct Kernel {
  // Square unless both are given, so that a number will do where most kernels are square.
  Kernel(int side) : height(side), width(side) {}  // NOLINT(google-explicit-constructor)
  Kernel(int h, int w) : height(h), width(w) {}
  int height, width;
};

class Layers {
 public:
  // `side` is that of the output; of the input where a convolution is transposed. Each of `groups`
  // sees its share of the channels; as many as there are channels make it depthwise.
  void convolution(const std::string& name, int in, int out, Kernel kernel, int side, bool bias,
                   int groups = 1);
  void normalisation(const std::string& name, int channels, int side);
  // A convolution without a bias, and its normalisation: name.conv and name.bn.
  void normalised(const std::string& name, int in, int out, Kernel kernel, int side,
                  int groups = 1);
  void linear(const std::string& name, int in, int out, int rows = 1);
  void layer_norm(const std::string& name, int width, int rows);
  void table(const std::string& name, std::int64_t elements, double work = 1);
  // Work that has no tensors of its own.
  void work(double multiply_adds) { list_.push_back({{}, multiply_adds}); }
  // Multiplies the work of all layers from this index on.
  void scale_work(std::size_t first, double factor);

  const std::vector<Layer>& list() const { return list_; }
  std::int64_t elements() const;

 private:
  std::vector<Layer> list_;
};

}  // namespace unisono::sim
