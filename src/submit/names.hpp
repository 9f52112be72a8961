// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which names are in flight on this rank. Thread-safe: submitting threads reserve, the engine
// releases when the operation has ended.
#pragma once

#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "model/request.hpp"
#include "unisono/status.hpp"

namespace unisono {

class NameRegistry {
 public:
  // All of them or none: duplicate_name when one is in flight already.
  Status reserve(std::span<const Request* const> requests);
  void release(const Request& request);
  std::size_t in_flight() const;

 private:
  mutable std::mutex mutex_;
  std::set<std::pair<SetId, std::string>> names_;
};

}  // namespace unisono
