// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which names are in flight on this rank. Thread-safe: submitting threads reserve, the engine
// releases when the operation has ended.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "model/pending.hpp"
#include "unisono/status.hpp"

namespace unisono::submit {

class NameRegistry {
 public:
  // Reserves all of them or none; returns duplicate_name when one is already in flight.
  Status reserve(std::span<const Pending> operations);
  void release(const Request& request) noexcept;
  std::size_t in_flight() const;
  // How many of them may change what codecs keep.
  std::size_t packing() const;
  bool packing(SetId set, const std::function<bool(std::string_view)>& chosen) const;

 private:
  // Compares with the name inside a request, so that releasing allocates no memory.
  struct Before {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return a.first != b.first ? a.first < b.first
                                : std::string_view(a.second) < std::string_view(b.second);
    }
  };
  void forget(const Request& request) noexcept;

  mutable std::mutex mutex_;
  std::map<std::pair<SetId, std::string>, bool, Before> names_;  // and whether it may pack
  std::size_t packing_ = 0;
};

}  // namespace unisono::submit
