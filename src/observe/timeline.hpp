// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Writes what Timings records to a file for chrome://tracing or Perfetto: a row per tensor, a slice
// per stretch (NEGOTIATE_ALLREDUCE, WAIT_FOR_OTHER_TENSOR_DATA, PACK, WAIT_FOR_DATA, MOVE, UNPACK),
// and CYCLE_START marks when asked for. The file is complete JSON after every write, also after a
// crash.
// Thread: its own, which looks a few times a second. It does not slow the engine down: when tensors
// come faster than the ring can hold them, they are counted as missing and not waited for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "observe/timings.hpp"
#include "unisono/status.hpp"

namespace unisono::observe {

class Timeline {
 public:
  // timings outlives the timeline. An existing file is replaced.
  static Result<std::unique_ptr<Timeline>> open(const std::string& path, Rank rank,
                                                std::string_view host, Timings& timings,
                                                bool mark_cycles);
  // Writes what is left and closes the file.
  ~Timeline();

 private:
  Timeline(std::FILE* file, Rank rank, Timings& timings);
  void watch();
  void write_news();
  void write_tensor(const TensorTiming& tensor);
  void event(const std::string& json);
  int row_of(const std::string& name);

  std::FILE* file_;
  const Rank rank_;
  Timings& timings_;
  std::uint64_t seen_ = 0, missed_ = 0;
  bool first_ = true;
  std::map<std::string, int> rows_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool closing_ = false;
  std::thread thread_;
};

// Where a rank writes: rank 0 the file itself, the others beside it ("run.json" -> "run.3.json").
std::string timeline_path(const std::string& path, Rank rank);

}  // namespace unisono::observe
