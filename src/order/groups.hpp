// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Groups: collecting one locally until it is whole, and saying how members' groups differ.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "model/members.hpp"
#include "order/readiness.hpp"
#include "unisono/status.hpp"

namespace unisono {

// Holds back the requests of a group until its last one is submitted.
class GroupAssembler {
 public:
  // Appends to `whole` what may go out: an ungrouped request, or a group that became whole.
  void add(Request request, std::vector<Request>& whole);
  void clear() { partial_.clear(); }

 private:
  std::unordered_map<std::string, std::vector<Request>> partial_;
};

// How many of the requests from `first` on belong together; 0 when a group is not whole.
std::size_t parcel_length(const std::vector<Request>& requests, std::size_t first);

// The mismatch of a unit whose members put different tensors into it.
Status composition_error(const Unit& unit, const Members& members);

}  // namespace unisono
