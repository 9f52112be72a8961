// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/rows/side_by_side.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/workload/workload.hpp"
#include "simulate/rows/row_bytes.hpp"

namespace unisono::tools {
namespace {

using testing::HasSubstr;

std::vector<std::byte> bytes_of(const SimulatedRow& row) {
  ByteWriter out;
  put_row(out, row);
  return out.take();
}

SimulateSettings some_settings() {
  SimulateSettings settings;
  settings.base.workload = sim::make_workload("tiny").value();
  settings.base.iterations = 2;
  return settings;
}

std::vector<SimulatedRow> some_rows() {
  return {{4, "cache", "event", "threshold", {}},
          {3, "topo", "event", "threshold", {}},
          {5, "tree", "event", "threshold", {}}};
}

TEST(RowBytes, EveryFigureOfARowArrives) {
  SimulatedRow row{7, "topo", "gs", "wfbp", {}};
  // A figure that is forgotten would not move the bytes when it moves.
  std::set<std::vector<std::byte>> different{bytes_of(row)};
  const auto moves = [&](auto& figure) {
    figure = 1;
    different.insert(bytes_of(row));
  };
  sim::SimResult& r = row.result;
  for (double* figure :
       {&r.step_ms, &r.step_p10_ms, &r.step_p90_ms, &r.exposed_ms, &r.efficiency, &r.straggler_ms,
        &r.control_ms, &r.negotiation_ms, &r.latency_ms, &r.bandwidth_ms, &r.background_share,
        &r.spin_share, &r.control_messages, &r.control_bytes, &r.buckets, &r.virtual_ms, &r.wall_s,
        &row.batch, &row.step_ms.median, &row.step_ms.low, &row.step_ms.high,
        &row.efficiency.median, &row.efficiency.low, &row.efficiency.high}) {
    moves(*figure);
  }
  moves(r.steps);
  moves(r.events);
  moves(r.digest);
  EXPECT_EQ(different.size(), 28U);
  r.failure = Status(Code::peer_lost, "gone", Culprit{.rank = 3});
  r.limited_by = "control";
  r.rounds = {{1, 2.0, 3.0}};
  row.step_each_ms = {1.5, 2.5};
  const std::vector<std::byte> bytes = bytes_of(row);
  ByteReader in(bytes);
  const SimulatedRow again = get_row(in);
  EXPECT_TRUE(in.finished());
  EXPECT_EQ(bytes_of(again), bytes);
  EXPECT_EQ(again.result.failure.message(), "gone");
  EXPECT_EQ(again.result.rounds.at(0).waited_ms, 3.0);
}

TEST(SideBySide, RowsAreWhatTheyAreOneAfterAnother) {
  SimulateSettings settings = some_settings();
  std::vector<SimulatedRow> in_turn = some_rows(), beside = some_rows();
  settings.jobs = 1;
  ASSERT_TRUE(play_all(settings, in_turn, [](double, const SimulatedRow&) {}).ok());
  settings.jobs = 2;
  double done = 0;
  const auto note = [&](double share, const SimulatedRow&) { done = share; };
  ASSERT_TRUE(play_all(settings, beside, note).ok());
  EXPECT_LE(done, 1.0);
  for (std::size_t i = 0; i < in_turn.size(); ++i) {
    EXPECT_EQ(beside[i].order, in_turn[i].order);
    EXPECT_EQ(beside[i].result.digest, in_turn[i].result.digest);
    EXPECT_EQ(beside[i].step_each_ms, in_turn[i].step_each_ms);
  }
}

TEST(SideBySide, TheFirstRowThatCannotBeIsTheError) {
  SimulateSettings settings = some_settings();
  settings.base.faults.kills = {{.rank = 3, .at_ms = 5}};
  std::vector<SimulatedRow> rows = some_rows();
  settings.jobs = 3;
  const Status bad = play_all(settings, rows, [](double, const SimulatedRow&) {});
  EXPECT_EQ(bad.code(), Code::invalid_argument);
  EXPECT_THAT(bad.message(), HasSubstr("no rank 3 to kill"));
}

TEST(SideBySide, SmallRowsStayInOneProcess) {
  SimulateSettings settings = some_settings();
  EXPECT_EQ(rows_at_a_time(settings, some_rows()), 1);
  settings.jobs = 2;
  EXPECT_EQ(rows_at_a_time(settings, some_rows()), 2);
  settings.jobs = 9;
  EXPECT_EQ(rows_at_a_time(settings, some_rows()), 3);
}

}  // namespace
}  // namespace unisono::tools
