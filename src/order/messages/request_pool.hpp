// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One copy of each request, for the many members of a simulated set in one process, which all
// submit the same. Keeps what it has seen for as long as it lives.
// Thread: one, that of all its users.
#pragma once

#include <deque>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "model/request.hpp"

namespace unisono::order {

class RequestPool {
 public:
  // Stays where it is.
  const Request& share(Request request) {
    const auto [first, last] = known_.equal_range(request.name);
    for (auto it = first; it != last; ++it) {
      if (*it->second == request) return *it->second;
    }
    const Request& kept = requests_.emplace_back(std::move(request));
    known_.emplace(kept.name, &kept);
    return kept;
  }
  std::size_t size() const { return requests_.size(); }

 private:
  std::deque<Request> requests_;
  std::unordered_multimap<std::string_view, const Request*> known_;  // keys live in the requests
};

}  // namespace unisono::order
