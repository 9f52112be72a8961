// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Groups: finding one in a list of requests, and saying how members' groups differ.
#pragma once

#include <vector>

#include "model/members.hpp"
#include "order/agree/readiness.hpp"
#include "unisono/status.hpp"

namespace unisono::order {

// How many of the requests from `first` on belong together; 0 when a group is not whole.
std::size_t parcel_length(const std::vector<Request>& requests, std::size_t first);

// The mismatch of a unit whose members put different tensors into it.
Status composition_error(const Unit& unit, const Members& members);

}  // namespace unisono::order
