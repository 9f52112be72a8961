// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/rows/row_bytes.hpp"

#include "base/data/status_bytes.hpp"

namespace unisono::tools {
namespace {

// One list for both directions: every number of a result. A member that is missing here would be
// zero in a row that another process played; the test compares all of them.
template <typename Row, typename Each>
void each_number(Row& row, Each each) {
  auto& r = row.result;
  each(row.ranks);
  each(row.batch);
  for (auto* spread : {&row.step_ms, &row.efficiency}) {
    each(spread->median);
    each(spread->low);
    each(spread->high);
  }
  each(r.steps);
  for (auto* value : {&r.step_ms, &r.step_p10_ms, &r.step_p90_ms, &r.exposed_ms, &r.efficiency,
                      &r.straggler_ms, &r.control_ms, &r.negotiation_ms, &r.latency_ms,
                      &r.bandwidth_ms, &r.background_share, &r.spin_share, &r.control_messages,
                      &r.control_bytes, &r.buckets, &r.virtual_ms, &r.wall_s}) {
    each(*value);
  }
  each(r.events);
  each(r.digest);
}

}  // namespace

void put_row(ByteWriter& out, const SimulatedRow& row) {
  each_number(row, [&](const auto& value) { out.put(value); });
  for (const std::string* text : {&row.order, &row.pacing, &row.planner, &row.result.limited_by}) {
    out.put_text(*text);
  }
  out.put_list(row.step_each_ms);
  put_status(out, row.result.failure);
  out.put(static_cast<std::uint32_t>(row.result.rounds.size()));
  for (const sim::RoundSample& round : row.result.rounds) {
    out.put(round.rank);
    out.put(round.at_ms);
    out.put(round.waited_ms);
  }
}

SimulatedRow get_row(ByteReader& in) {
  SimulatedRow row;
  each_number(row, [&](auto& value) {
    value = in.get<std::remove_reference_t<decltype(value)>>();
  });
  for (std::string* text : {&row.order, &row.pacing, &row.planner, &row.result.limited_by}) {
    *text = in.get_text();
  }
  row.step_each_ms = in.get_list<double>();
  row.result.failure = get_status(in);
  const auto rounds = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < rounds && in.ok(); ++i) {
    sim::RoundSample& round = row.result.rounds.emplace_back();
    round.rank = in.get<int>();
    round.at_ms = in.get<double>();
    round.waited_ms = in.get<double>();
  }
  return row;
}

}  // namespace unisono::tools
