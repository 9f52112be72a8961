// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "data.hpp"

#include <cstddef>

namespace mlp {
namespace {

constexpr float kCentreSpread = 0.22F;

}  // namespace

Source::Source(std::uint64_t seed, std::uint64_t stream)
    : centres_(std::size_t{kClasses} * kInputs), random_(seed * 7919 + stream + 1) {
  std::mt19937_64 shared(seed);
  std::normal_distribution<float> normal(0.0F, kCentreSpread);
  for (float& value : centres_) value = normal(shared);
}

Batch Source::draw(int samples) {
  Batch batch;
  batch.points.resize(static_cast<std::size_t>(samples) * kInputs);
  batch.labels.resize(static_cast<std::size_t>(samples));
  std::uniform_int_distribution<int> label(0, kClasses - 1);
  std::normal_distribution<float> noise(0.0F, 1.0F);
  float* point = batch.points.data();
  for (int& chosen : batch.labels) {
    chosen = label(random_);
    const float* centre = centres_.data() + std::size_t{kInputs} * static_cast<std::size_t>(chosen);
    for (int i = 0; i < kInputs; ++i) *point++ = centre[i] + noise(random_);
  }
  return batch;
}

}  // namespace mlp
