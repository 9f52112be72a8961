// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a program asks for: an operation with its settings, and the graph of a step that it knows
// beforehand. Values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "unisono/status.hpp"
#include "unisono/types.hpp"

namespace unisono {

using ProcessSetId = std::uint32_t;
inline constexpr ProcessSetId kWorld = 0;

// What every collective accepts; unset fields have the usual meaning.
struct Settings {
  ReduceOp op = ReduceOp::average;
  double prescale = 1.0;
  double postscale = 1.0;
  Rank root = 0;                            // broadcast: a global rank
  ProcessSetId process_set = kWorld;
  int priority = 0;                         // larger goes first among those ready together
  std::string codec = {};                   // "" = the job's
  // Codecs that planned steps may choose for this tensor where it names none, such as "fp16,bf16";
  // "" = the job's option of that name, "none" = it stays as it is.
  std::string plan_codecs = {};
  int team = 0;                             // which of the option teams, from 1; 0 = any
  std::vector<std::int64_t> splits = {};    // alltoall: rows for each member; empty = equal parts
  // A failure leaves the output as it was, for code that tries again from there. Without it, and
  // without the option of the same name, the output of an operation that failed is undefined.
  bool keep_inputs = false;
  // Called on the engine's thread when the operation ends; an exception it throws is reported
  // by wait().
  std::function<void(const Status&)> on_done = {};
};

// One operation in its general form; the typed calls below build it.
struct Operation {
  Collective kind = Collective::allreduce;
  std::string name = {};
  DType dtype = DType::f32;
  Shape shape = {};
  const void* input = nullptr;
  // allreduce, broadcast: may equal input, null = engine-owned; the others: engine-owned always.
  void* output = nullptr;
  std::vector<Rank> members = {};           // add_process_set only
  std::shared_ptr<void> keep_alive = {};    // held until the operation ends
};

// A node of a graph that a framework knows. One with `sum` is an allreduce: submitted under the
// node's name, with this dtype, shape and settings; any other computes.
struct GraphNode {
  std::string name = {};
  std::vector<std::uint32_t> inputs = {};   // nodes that end before this one begins
  bool sum = false;
  DType dtype = DType::f32;
  Shape shape = {};
  Settings settings = {};
};
struct Graph {
  std::vector<GraphNode> nodes = {};
  std::vector<std::uint32_t> fetches = {};  // nodes whose results the program wants
};

}  // namespace unisono
