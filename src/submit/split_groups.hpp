// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Cuts a list of tensors into contiguous runs, each to be submitted as one group. Fewer groups mean
// fewer agreements and larger messages, more groups mean an earlier start for the first of them.
//
// Pure. Both functions return the number of tensors in each run: min(groups, tensors) runs, none of
// them empty, so that every tensor gets its own run when there are more groups than tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace unisono::submit {

// Counts differ by one at most; the earlier runs are the longer ones. groups is 1 or more.
std::vector<std::size_t> split_by_count(std::size_t tensors, std::size_t groups);

// Makes the largest run as small as possible, in bytes. groups is 1 or more.
std::vector<std::size_t> split_by_bytes(std::span<const std::uint64_t> sizes, std::size_t groups);

}  // namespace unisono::submit
