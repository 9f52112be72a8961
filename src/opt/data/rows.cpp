// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/data/rows.hpp"

#include <algorithm>

namespace unisono::opt {

void append_rows(Rows& to, const Rows& more) {
  const std::uint64_t before = to.columns.size();
  to.columns.insert(to.columns.end(), more.columns.begin(), more.columns.end());
  to.values.insert(to.values.end(), more.values.begin(), more.values.end());
  to.labels.insert(to.labels.end(), more.labels.begin(), more.labels.end());
  to.begins.reserve(to.begins.size() + more.size());
  for (std::size_t i = 1; i < more.begins.size(); ++i) {
    to.begins.push_back(before + more.begins[i]);
  }
  to.width = std::max(to.width, more.width);
}

void append_constant(Rows& rows) {
  Rows wider;
  wider.width = rows.width + 1;
  wider.labels = std::move(rows.labels);
  wider.columns.reserve(rows.columns.size() + wider.size());
  wider.values.reserve(rows.values.size() + wider.size());
  wider.begins.reserve(wider.size() + 1);
  for (std::size_t i = 0; i < wider.size(); ++i) {
    const Entry entry = rows.row(i);
    wider.columns.insert(wider.columns.end(), entry.columns.begin(), entry.columns.end());
    wider.values.insert(wider.values.end(), entry.values.begin(), entry.values.end());
    wider.columns.push_back(rows.width);
    wider.values.push_back(1);
    wider.begins.push_back(wider.columns.size());
  }
  rows = std::move(wider);
}

}  // namespace unisono::opt
