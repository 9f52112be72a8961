// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/fault_options.hpp"

#include <charconv>
#include <cmath>

#include "base/data/text.hpp"

namespace unisono::tools {
namespace {

Status wrong_fault(std::string message) {
  return Status(Code::invalid_argument, std::move(message));
}

template <typename Number>
bool read_number(std::string_view text, Number& value) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc() && end == text.data() + text.size();
}

}  // namespace

Status read_faults(const FaultTexts& line, sim::Faults& faults) {
  for (const std::string& text : line.stragglers) {
    const std::size_t mark = text.find('=');
    sim::Straggler each{};
    if (mark == std::string::npos || !read_number(text.substr(0, mark), each.rank) ||
        !read_number(text.substr(mark + 1), each.factor) ||
        !std::isfinite(each.factor) || each.factor <= 0) {
      return wrong_fault(cat("--straggler ", text, ": write RANK=FACTOR, as 3=1.5"));
    }
    faults.stragglers.push_back(each);
  }
  for (const std::string& text : line.kills) {
    const std::size_t mark = text.find('@');
    sim::Kill each{};
    if (mark == std::string::npos || !read_number(text.substr(0, mark), each.rank) ||
        !read_number(text.substr(mark + 1), each.at_ms) || !std::isfinite(each.at_ms)) {
      return wrong_fault(cat("--kill ", text, ": write RANK@MILLISECONDS, as 3@120"));
    }
    faults.kills.push_back(each);
  }
  for (const std::string& text : line.partitions) {
    const std::size_t mark = text.find('@'), dash = text.find('-');
    sim::Partition each{};
    if (mark == std::string::npos || dash == std::string::npos || dash < mark ||
        !read_number(text.substr(0, mark), each.boundary) ||
        !read_number(text.substr(mark + 1, dash - mark - 1), each.from_ms) ||
        !read_number(text.substr(dash + 1), each.until_ms)) {
      return wrong_fault(cat("--partition ", text, ": write RANK@FROM-UNTIL, as 8@100-250"));
    }
    faults.partitions.push_back(each);
  }
  return {};
}

}  // namespace unisono::tools
