// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Steps that tests of topo use.
#pragma once

#include <string>
#include <vector>

#include "order/testing/virtual_net.hpp"
#include "order/topo/testing/net.hpp"

namespace unisono::order {

// A step whose tensors depend on nothing.
inline TopoStep step_of(const std::vector<std::string>& names) {
  TopoStep step;
  for (const std::string& name : names) step.push_back({tensor_request(name), {}});
  return step;
}

}  // namespace unisono::order
