// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A rank's own contribution to a tensor, as float32 on its way to a codec: scaled, clipped, checked.
// Points to the caller's memory. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "unisono/types.hpp"

namespace unisono::encode {

struct Source {
  std::string_view tensor;
  DType dtype = DType::f32;                 // a float
  const void* elements = nullptr;           // null: a rank that has joined sends nothing
  std::size_t count = 0;
  Shape shape = {};                         // of a low rank
  double prescale = 1.0;
  std::uint32_t owner = 0;                  // the rank: no two draw the same random numbers
};

// Whether all elements are numbers, also once they are scaled and float32.
bool all_finite(const Source& source);
// By what elements are multiplied so that their norm is at most clip: the prescale included.
double clipped_scale(const Source& source, double clip);
// Elements as float32, times the scale: the caller's own memory where nothing changes, else scratch.
const float* as_float32(const Source& source, double scale, std::vector<float>& scratch);

}  // namespace unisono::encode
