// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/layers/layers.hpp"

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

}  // namespace unisono::sim
