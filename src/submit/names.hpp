// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which names are in flight on this rank. Thread-safe: submitting threads reserve, the engine
// releases when the operation has ended.
#pragma once

#include <mutex>
#include <set>
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
  std::set<std::pair<SetId, std::string>, Before> names_;
};

}  // namespace unisono::submit
