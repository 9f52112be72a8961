// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the selectors of an engine have chosen and why, for whoever asks. Thread-safe.
#pragma once

#include <map>
#include <mutex>
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
  }
  std::vector<AlgorithmChoice> all() const {
    std::lock_guard lock(mutex_);
    std::vector<AlgorithmChoice> list;
    for (const auto& [key, choice] : choices_) list.push_back(choice);
    return list;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::tuple<SetId, int, SizeClass>, AlgorithmChoice> choices_;
};

}  // namespace unisono::run
