// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Writes what Timings records to a file for chrome://tracing or Perfetto, in one of two forms:
// a timeline has a row per tensor, a slice per stretch (NEGOTIATE_ALLREDUCE,
// WAIT_FOR_OTHER_TENSOR_DATA, PACK, WAIT_FOR_DATA, MOVE, UNPACK), and CYCLE_START marks when asked
// for; a trace has a row per rank and stretch, and a slice per bucket (bucket_events.hpp). The file
// is complete JSON after every write, also after a crash.
// Thread: its own, which looks a few times a second. It does not slow the engine down: when tensors
// come faster than the ring can hold them, they are counted as missing and not waited for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "observe/bucket_events.hpp"
#include "observe/event_file.hpp"
#include "observe/timings.hpp"
#include "unisono/status.hpp"

namespace unisono::observe {

class Timeline {
 public:
  enum class Form { timeline, timeline_with_cycles, trace };
  // timings outlives the timeline. An existing file is replaced.
  static Result<std::unique_ptr<Timeline>> open(const std::string& path, Rank rank,
                                                std::string_view host, Timings& timings, Form form);
  // Writes what is left and closes the file.
  ~Timeline();

 private:
  Timeline(EventFile file, Rank rank, Timings& timings, Form form);
  void watch();
  void write_news();
  void write_tensor(const TensorTiming& tensor);
  int row_of(const std::string& name);

  EventFile file_;
  const Rank rank_;
  Timings& timings_;
  const Form form_;
  std::uint64_t seen_ = 0, missed_ = 0;
  std::map<std::string, int> rows_;
  BucketEvents buckets_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool closing_ = false;
  std::thread thread_;
};

// Where a rank writes: rank 0 the file itself, the others beside it ("run.json" -> "run.3.json").
std::string timeline_path(const std::string& path, Rank rank);

}  // namespace unisono::observe
