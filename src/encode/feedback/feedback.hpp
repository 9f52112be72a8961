// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a rank keeps of its tensors from one step to the next: what it has not sent yet (the
// residual), and what some codecs need besides. Kept by the tensor's name, never by its place in a
// bucket, so that it follows the parameter through every change of plan.
// Thread: one at a time; the engine gives it to whoever drives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unisono/status.hpp"

namespace unisono::encode {

struct TensorMemory {
  std::vector<float> residual;              // of every element, once there has been feedback
  std::vector<float> velocity;              // of momentum
  std::vector<float> factor;                // of a low rank: the right factor of the last step
  std::uint32_t steps = 0;                  // so far: what random numbers hang on

  friend bool operator==(const TensorMemory&, const TensorMemory&) = default;
};

double norm_of_residual(const TensorMemory& memory);

class Feedback {
 public:
  // Makes it where there is none.
  TensorMemory& of(std::string_view tensor);
  const TensorMemory* find(std::string_view tensor) const;
  std::size_t tensors() const { return memories_.size(); }
  // Names that begin so.
  std::vector<std::string> names(std::string_view prefix) const;
  // The norm of all residuals together.
  double norm() const;

  // The residual of a tensor, which is empty from then on: to be sent by a dense allreduce.
  std::vector<float> flush(std::string_view tensor);
  void forget(std::string_view tensor);
  void clear() { memories_.clear(); }

  // All of it as bytes that load() reads back bit for bit. load() leaves everything as it was when
  // the bytes are not such a state.
  std::vector<std::byte> save() const;
  Status load(std::span<const std::byte> state);

 private:
  friend Result<std::vector<Feedback>> redistribute(std::span<const Feedback>, std::size_t);
  std::map<std::string, TensorMemory, std::less<>> memories_;
};

// What the ranks of another world size begin with, so that the sum over all ranks of every residual
// and velocity stays what it was: old rank r goes to new rank r mod size, where values add up.
// Fails when the ranks kept tensors of one name and different lengths. Pure.
Result<std::vector<Feedback>> redistribute(std::span<const Feedback> ranks, std::size_t size);

}  // namespace unisono::encode
