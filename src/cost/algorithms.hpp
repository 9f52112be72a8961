// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What each algorithm over messages would take, and how much it sends: closed forms in the number of
// members, their hosts and the bytes. A row for every algorithm; the same names as in move/.
// All ranks get the same bits from the same figures: only +, -, * and /, compiled without fusing
// them, so ranks on machines of different kinds decide alike.
// Pure; thread: any.
#pragma once

#include <cstdint>
#include <string_view>

#include "cost/layout.hpp"
#include "unisono/types.hpp"

namespace unisono::cost {

// Seconds from when the last member begins until all have the result. bytes: of the data that each
// member brings; for an allgather, of all parts together. Parts of a reducescatter and of an alltoall
// are equal. The algorithm must have a row.
double predict_allreduce(std::string_view algorithm, const Layout& layout, std::size_t bytes,
                         const Costs& costs);
double predict_allgather(std::string_view algorithm, const Layout& layout, std::size_t bytes,
                         const Costs& costs);
double predict_broadcast(std::string_view algorithm, const Layout& layout, std::size_t bytes,
                         const Costs& costs);
double predict_reducescatter(std::string_view algorithm, const Layout& layout, std::size_t bytes,
                             const Costs& costs);
double predict_alltoall(std::string_view algorithm, const Layout& layout, std::size_t bytes,
                        const Costs& costs);
// Of any of these kinds.
double predict(Collective kind, std::string_view algorithm, const Layout& layout,
               std::size_t bytes, const Costs& costs);
// Bytes of data that all members together send as messages. With parts of any sizes, but where
// "halving" brings the number of members down to a power of two, and of an alltoall.
std::uint64_t sent_by_allreduce(std::string_view algorithm, const Layout& layout,
                                std::size_t bytes);
std::uint64_t sent_by_allgather(std::string_view algorithm, const Layout& layout,
                                std::size_t bytes);
std::uint64_t sent_by_broadcast(std::string_view algorithm, const Layout& layout,
                                std::size_t bytes);
std::uint64_t sent_by_reducescatter(std::string_view algorithm, const Layout& layout,
                                    std::size_t bytes);
std::uint64_t sent_by_alltoall(std::string_view algorithm, const Layout& layout,
                               std::size_t bytes);

}  // namespace unisono::cost
