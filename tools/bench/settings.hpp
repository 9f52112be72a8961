// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What `unisono bench` was asked to do, as values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "unisono/types.hpp"

namespace unisono::tools {

inline constexpr std::string_view kPeerNames[] = {"openmpi", "mpich", "gloo", "horovod"};

struct BenchSettings {
  Collective collective = Collective::allreduce;
  int ranks = 2;
  std::vector<std::int64_t> sizes;             // bytes that each rank contributes
  std::vector<DType> dtypes;
  std::vector<std::string> algorithms;         // one implementation "unisono" for each
  std::string transport = "auto";
  bool arena = false, persistent = false, limit = false;
  bool explain = false;                        // why which algorithm ran
  std::vector<std::string> peers;
  std::map<std::string, std::string> peer_pythons;
  int repetitions = 5;
  double min_time_s = 0;
  std::string json, plot;
  bool quiet = false;
  std::string command;                         // the line as typed, for the report
};

// "fp32", "bf16", "int8": the names of --dtype and of the JSON rows.
std::string_view bench_name(DType dtype);

// The work of one row of the table: how many elements each rank contributes. Rounded up to whole
// elements and, where each rank gets a part, to equal parts.
struct Work {
  Collective collective = Collective::allreduce;
  DType dtype = DType::f32;
  std::int64_t elements = 0;

  std::int64_t bytes() const {
    return elements * static_cast<std::int64_t>(size_of(dtype));
  }
};
Work work_for(Collective collective, DType dtype, std::int64_t bytes, int ranks);

}  // namespace unisono::tools
