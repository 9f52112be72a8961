// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Every parameter of the simulator that is assumed or fitted rather than known of a machine, so that
// the answers' dependence on each can be shown. Values.
#pragma once

#include <span>
#include <string_view>

namespace unisono::sim {

struct SimSettings;
struct K80Cluster;

struct Parameter {
  std::string_view name;
  std::string_view source;
  // Multiplies it, within what it can be. Null where the parameter does not exist.
  void (*scale)(SimSettings& settings, double factor);
  void (*scale_k80)(K80Cluster& cluster, double factor) = nullptr;  // of paper 003
};

// Of simulated steps; of one study, which may have others.
std::span<const Parameter> assumed_parameters();
std::span<const Parameter> assumed_parameters(std::string_view study);

}  // namespace unisono::sim
