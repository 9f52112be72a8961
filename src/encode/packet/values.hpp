// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Values in the form a codec sends them: scales first where there are any, then codes or floats.
// Pure; thread: any.
#pragma once

#include <cstddef>

#include "kernels/quantise/quantise.hpp"
#include "unisono/codec.hpp"

namespace unisono::encode {

struct ValueForm {
  CodecForm form = CodecForm::none;
  int bits = 0;

  std::size_t bytes(std::size_t count) const;
  // The part of it that scales take.
  std::size_t scale_bytes(std::size_t count) const;
  friend bool operator==(const ValueForm&, const ValueForm&) = default;
};

// Some values of a packet that holds `all`, beginning at a multiple of kQuantiseBucket: the parts of
// a packet may be written and read in any order, and come out the same.
struct ValuePart {
  std::size_t all = 0, first = 0, count = 0;
};

// What float16 and bfloat16 cannot hold becomes the largest number they can, never infinite. key is
// of qsgd; origin: the index of the packet's first value in its tensor, a multiple of
// kQuantiseBucket.
void write_values(ValueForm form, const kernels::QuantiseKey& key, std::uint64_t origin,
                  ValuePart part, const float* values, std::byte* packed);
void read_values(ValueForm form, ValuePart part, const std::byte* packed, float* values);
void add_values(ValueForm form, ValuePart part, const std::byte* packed, float* accumulator);

}  // namespace unisono::encode
