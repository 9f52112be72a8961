// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What `unisono trace` reads: recordings of ranks, whole or torn.
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>

#include "base/data/text.hpp"
#include "base/os/fd.hpp"
#include "simulate/trace.hpp"
#include "target.hpp"
#include "trace/merge.hpp"
#include "trace/summary.hpp"

namespace unisono::fuzz {
namespace {

// A folder in memory, since merging renames files.
class Room {
 public:
  Room() { must(::mkdtemp(path_.data()) != nullptr, "no folder in memory"); }
  ~Room() {
    for (const char* name : {"part", "all", "again", "step"}) std::remove(in(name).c_str());
    ::rmdir(path_.c_str());
  }
  std::string in(std::string_view name) const { return cat(path_, "/", name); }
  void put(std::string_view name, std::string_view text) const {
    std::FILE* file = std::fopen(in(name).c_str(), "w");
    must(file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size(),
         "no room");
    std::fclose(file);
  }

 private:
  std::string path_ = "/dev/shm/unisono-fuzz-XXXXXX";
};

void look_at(const Room& room, std::string_view name) {
  auto recording = tools::read_recording(room.in(name));
  if (!recording) return;
  const tools::Summary summary = tools::summarize(*recording);
  must(summary.sizes.total() == summary.buckets, "a bucket without a size");
  static_cast<void>(tools::summary_text("x", summary));
  static_cast<void>(tools::summary_json("x", summary));
  if (!summary.steps.ok()) return;
  room.put("step", tools::compact_json(summary.steps.value(), recording->ranks.size()));
  static_cast<void>(tools::read_trace(room.in("step")));
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  static const Room room;
  room.put("part", text_of(bytes));
  look_at(room, "part");
  if (auto merged = tools::merge_parts({room.in("part")}, room.in("all")); merged.ok()) {
    auto again = tools::merge_parts({room.in("all")}, room.in("again"));
    must(again.ok() && again->lost_lines == 0 && again->events == merged->events,
         "what was merged is not whole");
    look_at(room, "all");
  }
}

std::vector<Bytes> seeds() {
  const auto bucket = [](int rank, int id, int at) {
    return cat(R"({"name":"x","cat":"bucket","ph":"X","pid":)", rank, R"(,"tid":65,"ts":)", at,
               R"(,"dur":9,"args":{"set":0,"bucket":)", id,
               R"(,"kind":"allreduce","bytes":4,"packed_after_us":1,"joined_after_us":2,)",
               R"("moved_after_us":8,"tensors":[{"name":"t","bytes":4,"ready_before_us":3,)",
               R"("agreed_before_us":1}]}})");
  };
  const auto clock = [](int rank, char name) {
    return cat(R"({"name":"clock","ph":"M","pid":)", rank, R"(,"tid":0,"args":{"clock":")", name,
               R"(","steady_us":5.5,"wall_us":7}})");
  };
  const std::string whole =
      cat("[\n", clock(0, 'a'), ",\n", bucket(0, 1, 10), ",\n", bucket(0, 2, 90), ",\n",
          clock(1, 'b'), ",\n", bucket(1, 1, 1012), ",\n", bucket(1, 2, 1093), "\n]\n");
  return {bytes_of(whole), bytes_of(whole.substr(0, whole.size() - 40)),
          bytes_of("[\n" R"({"name":"MOVE","ph":"X","pid":0,"tid":1,"ts":5,"dur":2,)"
                   R"("args":{"bytes":4,"bucket":3,"set":0,"kind":"allreduce",)"
                   R"("begun_before_us":1}})" "\n]\n")};
}

}  // namespace unisono::fuzz
