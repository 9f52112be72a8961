// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Networks as lists of layers in forward order, made from their architecture. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace unisono::sim {

struct LayerTensor {
  std::string name;
  std::int64_t elements;
};

struct Layer {
  std::vector<LayerTensor> tensors;
  double work;                          // multiply-adds; only ratios matter
};

class Layers {
 public:
  // A k x k convolution; `side` is that of its output. Has a bias, or a separate normalisation.
  void convolution(const std::string& name, int in, int out, int k, int side, bool bias);
  void normalisation(const std::string& name, int channels, int side);
  void linear(const std::string& name, int in, int out, int rows = 1);
  void table(const std::string& name, std::int64_t elements, double work = 1);
  const std::vector<Layer>& list() const { return list_; }

 private:
  std::vector<Layer> list_;
};

}  // namespace unisono::sim
