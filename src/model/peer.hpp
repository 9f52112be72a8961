// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Who a rank is, for error messages and verdicts.
#pragma once

#include <cstdint>
#include <string>

#include "base/data/text.hpp"
#include "unisono/types.hpp"

namespace unisono {

struct PeerInfo {
  Rank rank = 0;
  std::string host;
  std::int64_t pid = 0;

  std::string to_string() const { return cat("rank ", rank, " (host ", host, ", pid ", pid, ")"); }
};

}  // namespace unisono
