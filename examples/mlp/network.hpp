// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Dense layers with ReLU between them and a softmax at the end, trained by SGD with momentum.
// backward() reports each layer's gradient as soon as it is complete, last layer first, so that the
// caller can send it while the layers before it are still being computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "data.hpp"

namespace mlp {

// Weights (inputs x outputs) and then biases, in one buffer: one tensor to exchange per layer.
struct Layer {
  int inputs = 0;
  int outputs = 0;
  std::vector<float> parameters;
  std::vector<float> gradient;
  std::vector<float> momentum;
  std::vector<float> activation;  // batch x outputs
  std::vector<float> delta;       // d loss / d activation, batch x outputs

  std::size_t weights() const { return static_cast<std::size_t>(inputs) * outputs; }
};

struct Score {
  float loss = 0;
  float accuracy = 0;
};

class Network {
 public:
  Network(const std::vector<int>& hidden, std::uint64_t seed);

  Score forward(const Batch& batch);
  void backward(const Batch& batch, const std::function<void(std::size_t layer)>& ready);
  void update(std::size_t layer, float rate);

  std::vector<Layer>& layers() { return layers_; }
  std::size_t parameters() const;
  // Of every bit of every parameter: equal if and only if the ranks hold the same model.
  std::uint64_t hash() const;

 private:
  std::vector<Layer> layers_;
};

}  // namespace mlp
