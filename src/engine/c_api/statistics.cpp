// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Statistics and timelines of the C interface.
#include <algorithm>
#include <cstring>

#include "base/data/text.hpp"
#include "engine/c_api/handles.hpp"

using namespace unisono;
using namespace unisono::engine::c_api;

namespace {

struct CountRow {
  std::string_view name;
  std::uint64_t Stats::*value;
};
struct SecondsRow {
  std::string_view name;
  double Stats::*value;
};

#define UNISONO_NONE(name, about)
#define UNISONO_COUNT(name, about) CountRow{#name, &Stats::name},
#define UNISONO_TIME(name, about) SecondsRow{#name "_s", &Stats::name##_s},
#define UNISONO_SECONDS(name, about) SecondsRow{#name, &Stats::name},
#define UNISONO_NAME(name, about) #name,
#define UNISONO_NAME_S(name, about) #name "_s",
constexpr CountRow kCounts[] = {
    UNISONO_STATS(UNISONO_COUNT, UNISONO_NONE, UNISONO_COUNT, UNISONO_NONE)};
constexpr SecondsRow kSeconds[] = {
    UNISONO_STATS(UNISONO_NONE, UNISONO_TIME, UNISONO_NONE, UNISONO_SECONDS)};
constexpr const char* kNames[] = {
    UNISONO_STATS(UNISONO_NAME, UNISONO_NAME_S, UNISONO_NAME, UNISONO_NAME) nullptr};
#undef UNISONO_NONE
#undef UNISONO_COUNT
#undef UNISONO_TIME
#undef UNISONO_SECONDS
#undef UNISONO_NAME
#undef UNISONO_NAME_S

template <typename Row, std::size_t N, typename Value>
int read_stat(unisono_engine* engine, const Row (&rows)[N], const char* name, Value* value,
              const char* others) {
  return with_engine(engine, [&](Engine& target) -> Status {
    if (name == nullptr || value == nullptr) return null_argument("the name or the place for it");
    const auto row = std::find_if(std::begin(rows), std::end(rows),
                                  [&](const Row& each) { return each.name == name; });
    if (row == std::end(rows)) {
      return wrong(cat("there is no such statistic as '", name, "' here; ", others,
                       ", and unisono_stat_names() lists all"));
    }
    *value = target.stats().*(row->value);
    return {};
  });
}

}  // namespace

extern "C" {

int unisono_stat_count(unisono_engine* engine, const char* name, uint64_t* value) {
  return read_stat(engine, kCounts, name, value, "times are read with unisono_stat_seconds()");
}
int unisono_stat_seconds(unisono_engine* engine, const char* name, double* value) {
  return read_stat(engine, kSeconds, name, value, "counts are read with unisono_stat_count()");
}
const char* const* unisono_stat_names(void) { return kNames; }

int unisono_verdict(unisono_engine* engine, char* text, size_t size, int* slow_rank) {
  return with_engine(engine, [&](Engine& target) -> Status {
    if (text == nullptr || size == 0) return null_argument("the place for the verdict");
    const Stats stats = target.stats();
    const std::size_t length = std::min(size - 1, stats.verdict.size());
    std::memcpy(text, stats.verdict.data(), length);
    text[length] = 0;
    if (slow_rank != nullptr) *slow_rank = stats.slow_rank;
    return {};
  });
}

int unisono_explain(unisono_engine* engine, char* text, size_t size, size_t* needed) {
  return with_engine(engine, [&](Engine& target) -> Status {
    if (text == nullptr || size == 0) return null_argument("the place for the explanation");
    const std::string all = target.explain().text();
    const std::size_t length = std::min(size - 1, all.size());
    std::memcpy(text, all.data(), length);
    text[length] = 0;
    if (needed != nullptr) *needed = all.size() + 1;
    return {};
  });
}

int unisono_start_timeline(unisono_engine* engine, const char* path, int mark_cycles) {
  return with_engine(engine, [&](Engine& target) {
    return target.start_timeline(path == nullptr ? "" : path, mark_cycles != 0);
  });
}

int unisono_stop_timeline(unisono_engine* engine) {
  return with_engine(engine, [&](Engine& target) -> Status {
    target.stop_timeline();
    return {};
  });
}

}  // extern "C"
