// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the selectors of an engine have chosen and why, and how sparse streams travel, for whoever
// asks. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/request.hpp"
#include "run/select/size_class.hpp"
#include "unisono/explanation.hpp"

namespace unisono::run {

class Explanations {
 public:
  void set(const SizeClass& of, AlgorithmChoice choice) {
    std::lock_guard lock(mutex_);
    choices_[{choice.set, choice.channel, of}] = std::move(choice);
  }
  void forget(SetId set, int channel) {
    std::lock_guard lock(mutex_);
    std::erase_if(choices_, [&](const auto& entry) {
      return std::get<0>(entry.first) == set && std::get<1>(entry.first) == channel;
    });
    std::erase_if(sparse_, [&](const auto& entry) { return std::get<0>(entry.first) == set; });
  }
  // Of the same size, the last one counts.
  void set(SparseChoice choice) {
    std::lock_guard lock(mutex_);
    sparse_[{choice.set, choice.collective, choice.dtype, choice.length, choice.elements}] =
        std::move(choice);
    // Sizes may be others in every step.
    if (sparse_.size() > kSparseMax) sparse_.erase(sparse_.begin());
  }
  std::vector<SparseChoice> all_sparse() const {
    std::lock_guard lock(mutex_);
    std::vector<SparseChoice> list;
    for (const auto& [key, choice] : sparse_) list.push_back(choice);
    return list;
  }
  std::vector<AlgorithmChoice> all() const {
    std::lock_guard lock(mutex_);
    std::vector<AlgorithmChoice> list;
    for (const auto& [key, choice] : choices_) list.push_back(choice);
    return list;
  }

 private:
  static constexpr std::size_t kSparseMax = 64;

  mutable std::mutex mutex_;
  std::map<std::tuple<SetId, int, SizeClass>, AlgorithmChoice> choices_;
  std::map<std::tuple<SetId, std::string, std::string, std::uint64_t, double>, SparseChoice> sparse_;
};

}  // namespace unisono::run
