// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/data/generate.hpp"

#include <errno.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "opt/job/random.hpp"
#include "opt/job/text.hpp"
#include "opt/job/workers.hpp"

namespace unisono::opt {
namespace {

constexpr DataShape kShapes[] = {
    {"url", "suspicious addresses: 3,231,961 features, mostly 0 or 1, 116 of them in a row",
     3'231'961, 116, 64, false},
    {"webspam", "trigrams of web pages: 16,609,143 features, 3,730 of them in a row of length 1",
     16'609'143, 3'730, 0, true},
};

constexpr std::uint32_t kModelColumns = 20'000;  // the hidden model knows the most frequent ones
constexpr double kModelShare = 0.25;             // and gives a weight to so many of them
constexpr double kFlipped = 0.01;                // labels that are wrong whatever the row says
constexpr std::uint64_t kRowsAtOnce = 256;

// The weight of a column in the hidden model: none for most, a sign for the others.
double hidden_weight(std::uint64_t seed, std::uint32_t column) {
  if (column >= kModelColumns) return 0;
  const std::uint64_t bits = mixed(seed, column);
  if (as_uniform(bits) >= kModelShare) return 0;
  return (bits & 1) != 0 ? 1 : -1;
}

void draw_columns(Random& random, const DataShape& shape, std::size_t count,
                  std::vector<std::uint32_t>& columns) {
  columns.clear();
  const double range = std::log(static_cast<double>(shape.features) + 1);
  while (columns.size() < count) {
    for (std::size_t missing = count - columns.size(); missing > 0; --missing) {
      const double index = std::exp(range * random.uniform());
      const auto column = static_cast<std::uint32_t>(index) - 1;
      columns.push_back(std::min(column, shape.features - 1));
    }
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  }
}

void append_row(const DataShape& shape, std::uint64_t seed, std::uint64_t row,
                std::vector<std::uint32_t>& columns, std::vector<double>& values,
                std::string& out) {
  Random random(mixed(seed, row));
  const std::size_t count = shape.nonzeros / 2 + random.below(shape.nonzeros + 1);
  draw_columns(random, shape, count, columns);
  values.clear();
  double square = 0, margin = 0, spread = 0;
  for (const std::uint32_t column : columns) {
    const bool real = shape.unit_rows || column < shape.real_valued;
    values.push_back(real ? 0.1 + 0.9 * random.uniform() : 1.0);
    square += values.back() * values.back();
    const double part = hidden_weight(seed, column) * values.back();
    margin += part;
    spread += part * part;
  }
  // Rows of any length are about equally certain.
  const double scaled = spread > 0 ? 4 * margin / std::sqrt(spread) : 0;
  bool positive = random.uniform() < 1 / (1 + std::exp(-scaled));
  if (random.uniform() < kFlipped) positive = !positive;
  out += positive ? "+1" : "-1";
  const double scale = shape.unit_rows ? 1 / std::sqrt(square) : 1;
  char number[32];
  for (std::size_t i = 0; i < columns.size(); ++i) {
    out += ' ';
    append_to(out, std::uint64_t{columns[i]} + 1);
    out += ':';
    if (values[i] == 1 && scale == 1) {
      out += '1';
    } else {
      const auto done = std::to_chars(number, number + sizeof number, values[i] * scale,
                                      std::chars_format::general, 6);
      out.append(number, done.ptr);
    }
  }
  out += '\n';
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

std::span<const DataShape> data_shapes() { return kShapes; }

const DataShape* find_shape(std::string_view name) {
  for (const DataShape& shape : kShapes) {
    if (shape.name == name) return &shape;
  }
  return nullptr;
}

std::string generated_rows(const DataShape& shape, std::uint64_t seed, std::uint64_t begin,
                           std::uint64_t end) {
  std::string out;
  std::vector<std::uint32_t> columns;
  std::vector<double> values;
  for (std::uint64_t row = begin; row < end; ++row) {
    append_row(shape, seed, row, columns, values, out);
  }
  return out;
}

Status generate(const GenerateSettings& settings,
                const std::function<void(std::uint64_t rows_done)>& progress) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(settings.path.c_str(), "we"));
  const auto failed = [&] {
    return wrong(settings.path, ": cannot be written: ", std::strerror(errno));
  };
  if (file == nullptr) return failed();
  Workers workers(settings.threads);
  const auto count = static_cast<std::size_t>(workers.count());
  std::vector<std::string> pieces(count);
  for (std::uint64_t done = 0; done < settings.rows;) {
    const std::uint64_t end = std::min(settings.rows, done + kRowsAtOnce * count);
    workers.run([&](int index) {
      const auto i = static_cast<std::uint64_t>(index);
      const std::uint64_t rows = end - done;
      pieces[i] = generated_rows(*settings.shape, settings.seed,
                                 settings.first + done + rows * i / count,
                                 settings.first + done + rows * (i + 1) / count);
    });
    for (const std::string& piece : pieces) {
      if (std::fwrite(piece.data(), 1, piece.size(), file.get()) != piece.size()) return failed();
    }
    done = end;
    progress(done);
  }
  return std::fflush(file.get()) == 0 ? Status() : failed();
}

}  // namespace unisono::opt
