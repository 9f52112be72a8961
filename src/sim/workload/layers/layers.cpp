// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/layers/layers.hpp"

namespace unisono::sim {
namespace {

// Multiply-adds that a normalisation's passes over memory are worth, per element.
constexpr double kNormalisationWork = 8;

}  // namespace

void Layers::convolution(const std::string& name, int in, int out, Kernel kernel, int side,
                         bool bias, int groups) {
  const std::int64_t weights = std::int64_t{in} / groups * out * kernel.height * kernel.width;
  Layer layer{{{name + ".weight", weights}}, static_cast<double>(weights) * side * side};
  if (bias) layer.tensors.push_back({name + ".bias", out});
  list_.push_back(std::move(layer));
}

void Layers::normalisation(const std::string& name, int channels, int side) {
  list_.push_back({{{name + ".weight", channels}, {name + ".bias", channels}},
                   kNormalisationWork * channels * side * side});
}

void Layers::normalised(const std::string& name, int in, int out, Kernel kernel, int side,
                        int groups) {
  convolution(name + ".conv", in, out, kernel, side, false, groups);
  normalisation(name + ".bn", out, side);
}

void Layers::linear(const std::string& name, int in, int out, int rows) {
  const std::int64_t weights = std::int64_t{in} * out;
  list_.push_back({{{name + ".weight", weights}, {name + ".bias", out}},
                   static_cast<double>(weights) * rows});
}

void Layers::layer_norm(const std::string& name, int width, int rows) {
  list_.push_back({{{name + ".weight", width}, {name + ".bias", width}},
                   kNormalisationWork * width * rows});
}

void Layers::table(const std::string& name, std::int64_t elements, double work) {
  list_.push_back({{{name, elements}}, work});
}

void Layers::scale_work(std::size_t first, double factor) {
  for (std::size_t i = first; i < list_.size(); ++i) list_[i].work *= factor;
}

std::int64_t Layers::elements() const {
  std::int64_t sum = 0;
  for (const Layer& layer : list_) {
    for (const LayerTensor& tensor : layer.tensors) sum += tensor.elements;
  }
  return sum;
}

}  // namespace unisono::sim
