// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Files of linear models. The checksum is made right first, as somebody who means harm would.
#include "base/data/text.hpp"
#include "opt/job/checksum.hpp"
#include "opt/model/linear_model.hpp"
#include "target.hpp"

namespace unisono::fuzz {
namespace {

// A model may be as wide as it says, and has memory for that; there is no need to fill it here.
bool is_wide(std::string_view text) {
  const std::size_t at = text.find("features ");
  if (at == text.npos) return false;
  const std::string_view number = text.substr(at + 9, 20);
  return number.find_first_not_of("0123456789") > 6;
}

opt::LinearModel model(bool intercept, std::vector<float> weights) {
  opt::LinearModel made;
  made.intercept = intercept;
  made.loss = intercept ? opt::Loss::hinge : opt::Loss::logistic;
  made.labels = {0, 2.5f};
  made.weights = std::move(weights);
  return made;
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  Choices choices(bytes);
  const bool repaired = choices.below(4) != 0;
  std::string text(text_of(choices.rest()));
  if (is_wide(text)) return;
  if (repaired) {
    text.resize(std::min(text.find("checksum "), text.size()));
    text += cat("checksum ", opt::checksum_of(text.data(), text.size(), 0), "\n");
  }
  const auto read = opt::parse_model(text);
  if (!read.ok()) return;
  const auto again = opt::parse_model(opt::model_text(read.value()));
  must(again.ok() && again.value().weights == read.value().weights &&
           again.value().loss == read.value().loss &&
           again.value().intercept == read.value().intercept,
       "a model changes when it is written down");
  const std::uint32_t columns[] = {0, 5, UINT32_MAX};
  const float values[] = {1, -2, 3};
  static_cast<void>(read.value().decision({columns, values}));
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> all;
  for (const auto& made : {model(false, {}), model(true, {0.5f}), model(true, {0, -1e-8f, 3, 0})}) {
    all.push_back(chosen(1, bytes_of(opt::model_text(made))));
  }
  all.push_back(chosen(0, bytes_of(opt::model_text(model(false, {1, 2})))));
  return all;
}

}  // namespace unisono::fuzz
