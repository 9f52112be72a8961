// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How a planned bucket travels. A value; part of the plan, so equal on all members.
#pragma once

#include <cstdint>
#include <string>

namespace unisono {

struct BucketMethod {
  std::uint32_t channel = 0;            // which of the set's channels, one for each team
  std::string algorithm = {};           // of an allreduce over messages; "": as trials have it
  std::string codec = {};               // of an allreduce; "": what its tensors ask for

  friend bool operator==(const BucketMethod&, const BucketMethod&) = default;
};

}  // namespace unisono
