// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Text like that of two well-known sets of sparse samples, for machines that do not have them. Rows
// are independent of each other, so the same seed gives the same bytes whatever the threads.
//
// The columns of a row are drawn from Zipf's law with exponent 1: column k with a probability
// proportional to log(1 + 1/k), until enough differ. Labels come from a hidden sparse model of the
// frequent columns, with noise.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "unisono/status.hpp"

namespace unisono::opt {

struct DataShape {
  std::string_view name;
  std::string_view about;
  std::uint32_t features = 0;
  std::uint32_t nonzeros = 0;               // of a row on average; rows have half to one and a half
  std::uint32_t real_valued = 0;            // columns below have decimals, those above are 0 or 1
  bool unit_rows = false;                   // values are decimals, and rows have length 1
};
std::span<const DataShape> data_shapes();
const DataShape* find_shape(std::string_view name);

// The lines of rows [begin, end). Pure.
std::string generated_rows(const DataShape& shape, std::uint64_t seed, std::uint64_t begin,
                           std::uint64_t end);

struct GenerateSettings {
  const DataShape* shape = nullptr;
  std::uint64_t rows = 0;
  std::uint64_t first = 0;                  // row; those of one seed have one hidden model
  std::uint64_t seed = 1;
  int threads = 1;
  std::string path;
};
Status generate(const GenerateSettings& settings,
                const std::function<void(std::uint64_t rows_done)>& progress);

}  // namespace unisono::opt
