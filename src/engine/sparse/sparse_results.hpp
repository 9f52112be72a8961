// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What callers see of the result of a sparse collective. Pure; thread: any.
#pragma once

#include <memory>

#include "model/ticket.hpp"
#include "unisono/sparse.hpp"

namespace unisono::engine {

// Of a ticket that is done; empty when it has no sparse result.
SparseResult sparse_result(const TicketState& ticket);
// A dense result without its neutral elements.
SparseResult sparse_pairs(const SparseResult& dense);

}  // namespace unisono::engine
