// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The parts that everything the loop drives works with. The engine owns them, and they outlive the
// sets and persistent operations that look at them.
#pragma once

#include "base/clock.hpp"
#include "cost/layout.hpp"
#include "encode/feedback/codec_memory.hpp"
#include "engine/loop/pendings.hpp"
#include "observe/counters.hpp"
#include "observe/order_report.hpp"
#include "observe/timings.hpp"
#include "plan/planner.hpp"
#include "order/graph/collective_order.hpp"
#include "run/buffers.hpp"
#include "run/select/explanations.hpp"
#include "transport/transport.hpp"
#include "unisono/options.hpp"

namespace unisono::engine {

struct SharedParts {
  const Options* options = nullptr;
  const Clock* clock = nullptr;
  observe::Counters* counters = nullptr;
  observe::Timings* timings = nullptr;
  run::Explanations* explanations = nullptr;
  observe::OrderReports* order_reports = nullptr;
  std::shared_ptr<const order::GivenGraphs> graphs;  // of the engine's caller
  encode::CodecMemory* codecs = nullptr;    // what codecs keep from step to step
  const cost::Network* network = nullptr;   // null: fixed rules choose algorithms
  // The loop owns these and fills them in.
  const plan::Planner* planner = nullptr;
  transport::Transport* transport = nullptr;
  run::BufferPool* buffers = nullptr;
  Pendings* pendings = nullptr;
  run::RememberedChoices* remembered = nullptr;
};

}  // namespace unisono::engine
