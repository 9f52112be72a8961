// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "network.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace mlp {
namespace {

constexpr float kMomentum = 0.9F;

// c[m,n] += a[m,k] * b[k,n]; four rows of c at a time, so each row of b is read once for them.
void multiply_add(const float* a, const float* b, float* c, int m, int k, int n,
                  std::ptrdiff_t a_row, std::ptrdiff_t a_column) {
  int i = 0;
  for (; i + 4 <= m; i += 4) {
    float* __restrict c0 = c + static_cast<std::ptrdiff_t>(i) * n;
    float* __restrict c1 = c0 + n;
    float* __restrict c2 = c1 + n;
    float* __restrict c3 = c2 + n;
    for (int p = 0; p < k; ++p) {
      const float* __restrict row = b + static_cast<std::ptrdiff_t>(p) * n;
      const float* from = a + i * a_row + p * a_column;
      const float a0 = from[0], a1 = from[a_row], a2 = from[2 * a_row], a3 = from[3 * a_row];
      for (int j = 0; j < n; ++j) {
        c0[j] += a0 * row[j];
        c1[j] += a1 * row[j];
        c2[j] += a2 * row[j];
        c3[j] += a3 * row[j];
      }
    }
  }
  for (; i < m; ++i) {
    float* row_c = c + static_cast<std::ptrdiff_t>(i) * n;
    for (int p = 0; p < k; ++p) {
      const float scale = a[i * a_row + p * a_column];
      const float* row = b + static_cast<std::ptrdiff_t>(p) * n;
      for (int j = 0; j < n; ++j) row_c[j] += scale * row[j];
    }
  }
}

Layer make_layer(int inputs, int outputs, std::mt19937_64& random) {
  Layer layer;
  layer.inputs = inputs;
  layer.outputs = outputs;
  const std::size_t size = layer.weights() + static_cast<std::size_t>(outputs);
  layer.parameters.assign(size, 0.0F);
  layer.gradient.assign(size, 0.0F);
  layer.momentum.assign(size, 0.0F);
  std::normal_distribution<float> normal(0.0F, std::sqrt(2.0F / static_cast<float>(inputs)));
  for (std::size_t i = 0; i < layer.weights(); ++i) layer.parameters[i] = normal(random);
  return layer;
}

// Leaves (softmax - one hot) / batch in the last layer's delta.
Score score_and_delta(Layer& last, const Batch& batch) {
  const std::size_t samples = batch.labels.size();
  const auto classes = static_cast<std::size_t>(last.outputs);
  last.delta.resize(samples * classes);
  float loss = 0;
  std::size_t right = 0;
  for (std::size_t s = 0; s < samples; ++s) {
    const float* logits = last.activation.data() + s * classes;
    float* delta = last.delta.data() + s * classes;
    const float* top = std::max_element(logits, logits + classes);
    const auto label = static_cast<std::size_t>(batch.labels[s]);
    right += static_cast<std::size_t>(top - logits) == label ? 1 : 0;
    float sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += delta[c] = std::exp(logits[c] - *top);
    loss -= std::log(std::max(delta[label] / sum, 1e-30F));
    for (std::size_t c = 0; c < classes; ++c) {
      delta[c] = (delta[c] / sum - (c == label ? 1.0F : 0.0F)) / static_cast<float>(samples);
    }
  }
  return {loss / static_cast<float>(samples),
          static_cast<float>(right) / static_cast<float>(samples)};
}

}  // namespace

Network::Network(const std::vector<int>& hidden, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  int inputs = kInputs;
  for (const int width : hidden) {
    layers_.push_back(make_layer(inputs, width, random));
    inputs = width;
  }
  layers_.push_back(make_layer(inputs, kClasses, random));
}

Score Network::forward(const Batch& batch) {
  const auto samples = static_cast<int>(batch.labels.size());
  const float* input = batch.points.data();
  for (Layer& layer : layers_) {
    const float* bias = layer.parameters.data() + layer.weights();
    layer.activation.resize(static_cast<std::size_t>(samples) * layer.outputs);
    for (int s = 0; s < samples; ++s) {
      std::copy_n(bias, layer.outputs,
                  layer.activation.data() + static_cast<std::ptrdiff_t>(s) * layer.outputs);
    }
    multiply_add(input, layer.parameters.data(), layer.activation.data(), samples, layer.inputs,
                 layer.outputs, layer.inputs, 1);
    if (&layer != &layers_.back()) {
      for (float& value : layer.activation) value = std::max(value, 0.0F);
    }
    input = layer.activation.data();
  }
  return score_and_delta(layers_.back(), batch);
}

void Network::backward(const Batch& batch, const std::function<void(std::size_t)>& ready) {
  const auto samples = static_cast<int>(batch.labels.size());
  std::vector<float> transposed;
  for (std::size_t l = layers_.size(); l-- > 0;) {
    Layer& layer = layers_[l];
    const std::vector<float>& input = l == 0 ? batch.points : layers_[l - 1].activation;
    std::fill(layer.gradient.begin(), layer.gradient.end(), 0.0F);
    multiply_add(input.data(), layer.delta.data(), layer.gradient.data(), layer.inputs, samples,
                 layer.outputs, 1, layer.inputs);
    float* bias = layer.gradient.data() + layer.weights();
    for (int s = 0; s < samples; ++s) {
      const float* row = layer.delta.data() + static_cast<std::ptrdiff_t>(s) * layer.outputs;
      for (int o = 0; o < layer.outputs; ++o) bias[o] += row[o];
    }
    ready(l);
    if (l == 0) return;

    Layer& before = layers_[l - 1];
    transposed.resize(layer.weights());
    for (int i = 0; i < layer.inputs; ++i) {
      for (int o = 0; o < layer.outputs; ++o) {
        transposed[static_cast<std::size_t>(o) * layer.inputs + i] =
            layer.parameters[static_cast<std::size_t>(i) * layer.outputs + o];
      }
    }
    before.delta.assign(before.activation.size(), 0.0F);
    multiply_add(layer.delta.data(), transposed.data(), before.delta.data(), samples,
                 layer.outputs, layer.inputs, layer.outputs, 1);
    for (std::size_t i = 0; i < before.delta.size(); ++i) {
      if (before.activation[i] <= 0.0F) before.delta[i] = 0.0F;
    }
  }
}

void Network::update(std::size_t index, float rate) {
  Layer& layer = layers_[index];
  for (std::size_t i = 0; i < layer.parameters.size(); ++i) {
    layer.momentum[i] = kMomentum * layer.momentum[i] + layer.gradient[i];
    layer.parameters[i] -= rate * layer.momentum[i];
  }
}

std::size_t Network::parameters() const {
  std::size_t count = 0;
  for (const Layer& layer : layers_) count += layer.parameters.size();
  return count;
}

std::uint64_t Network::hash() const {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const Layer& layer : layers_) {
    for (const float value : layer.parameters) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      hash = (hash ^ bits) * 0x100000001b3U;
    }
  }
  return hash;
}

}  // namespace mlp
