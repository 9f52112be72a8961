// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/merge.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/data/text.hpp"
#include "observe/event_file.hpp"
#include "trace/event_lines.hpp"

namespace unisono::tools {
namespace {

using nlohmann::json;

// Events are flat; what is deeper was made to fill the stack of whoever copies or writes it.
bool too_deep(std::string_view line) {
  constexpr int kMost = 32;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size() && depth <= kMost; ++i) {
    const char c = line[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    }
  }
  return depth > kMost;
}

// Null when the line is no whole event of a rank.
json parsed(std::string_view line) {
  if (too_deep(line)) return {};
  json event = json::parse(line, nullptr, false);
  const bool whole = event.is_object() && event.contains("pid") && event["pid"].is_number_integer();
  if (!whole) return {};
  return event;
}

// Removes what was written when it is not kept.
class Unfinished {
 public:
  explicit Unfinished(std::string path) : path_(std::move(path)) {}
  ~Unfinished() {
    if (!path_.empty()) std::remove(path_.c_str());
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  const std::string& path() const { return path_; }
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

// Where to write: the file itself where the path is a link, and nothing but a plain file.
Result<std::string> place_of(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (fs::exists(there) && !fs::is_regular_file(there)) {
    return Status(Code::invalid_argument, cat("cannot write ", path, ": it is no plain file"));
  }
  if (!fs::is_symlink(fs::symlink_status(path, error))) return path;
  const fs::path target = fs::canonical(path, error);
  if (!error) return target.string();
  return Status(Code::invalid_argument, cat("cannot write ", path, ": ", error.message()));
}

double number(const json& object, const char* key) {
  // Nothing real is beyond it, and it fits every integer.
  constexpr double kMost = 1e15;
  const auto found = object.find(key);
  const bool there = found != object.end() && found->is_number();
  return there ? std::clamp(found->get<double>(), -kMost, kMost) : 0;
}

std::uint64_t count(const json& object, const char* key) {
  return static_cast<std::uint64_t>(std::max(number(object, key), 0.0));
}

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool tells_clock(const json& event) {
  return text(event, "name") == "clock" && event.contains("args") && event["args"].is_object();
}

// Whether nobody ends it before everybody has begun it.
bool meets(std::string_view kind) {
  return kind == "allreduce" || kind == "allgather" || kind == "barrier";
}

// Takes from an event what aligns clocks.
void note(const json& event, RankClock& clock) {
  const auto arguments = event.find("args");
  if (arguments == event.end() || !arguments->is_object()) return;
  if (text(event, "name") == "clock") {
    clock.clock = text(*arguments, "clock");
    clock.steady_us = number(*arguments, "steady_us");
    clock.wall_us = number(*arguments, "wall_us");
    return;
  }
  if (!meets(text(*arguments, "kind"))) return;
  Exchange exchange{.set = static_cast<std::uint32_t>(count(*arguments, "set")),
                    .bucket = count(*arguments, "bucket")};
  const double at = number(event, "ts");
  if (arguments->contains("moved_after_us")) {               // a bucket of a trace
    exchange.begun_us = at;
    exchange.moved_us = at + number(*arguments, "moved_after_us");
  } else if (arguments->contains("begun_before_us")) {       // a move of a timeline
    exchange.begun_us = at - number(*arguments, "begun_before_us");
    exchange.moved_us = at + number(event, "dur");
  } else {
    return;
  }
  clock.exchanges.push_back(exchange);
}

// Writes a time as it is written elsewhere, with three decimals.
void shift(json& event, const ClockOffset& offset, std::string& line) {
  const double at = number(event, "ts");
  const auto shifted = static_cast<std::int64_t>((at - offset.at(at)) * 1e3);
  event["ts"] = 0;
  line = event.dump(-1, ' ', false, json::error_handler_t::replace);
  line.replace(line.find("\"ts\":0") + 5, 1, observe::microseconds(Nanos(shifted)));
}

void tell_clock(json& event, const ClockOffset& offset, std::string& line) {
  event["args"]["by"] = offset.by;
  event["args"]["offset_us"] = offset.at(number(event["args"], "steady_us"));
  event["args"]["uncertain_us"] = offset.uncertain_us;
  line = event.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

Result<Merged> merge_parts(const std::vector<std::string>& parts, const std::string& path) {
  auto place = place_of(path);
  if (!place) return place.status();
  std::map<int, RankClock> clocks;
  std::set<int> aligned;                    // when they were merged before
  for (const std::string& part : parts) {
    auto lines = EventLines::open(part);
    if (!lines) return lines.status();
    for (std::string_view line; lines->next(line);) {
      const json event = parsed(line);
      if (event.is_null()) continue;
      const int rank = event["pid"].get<int>();
      note(event, clocks[rank]);
      if (tells_clock(event) && event["args"].contains("by")) aligned.insert(rank);
    }
    if (!lines->trouble().empty()) {
      return Status(Code::invalid_argument,
                    cat(part, ": line ", lines->line(), ": ", lines->trouble()));
    }
  }
  if (clocks.empty()) {
    return Status(Code::invalid_argument, cat(join_text(parts), ": no event is in it"));
  }
  Merged merged;
  merged.clocks = align_clocks(clocks);
  Unfinished unfinished(*place + ".unfinished");
  auto file = observe::EventFile::open(unfinished.path(), "trace", 0);
  if (!file) {
    return Status(Code::invalid_argument, cat("cannot write ", path, ": ", std::strerror(errno)));
  }
  for (const std::string& part : parts) {
    auto lines = EventLines::open(part);
    if (!lines) return lines.status();
    std::string changed;
    for (std::string_view line; lines->next(line);) {
      json event = parsed(line);
      if (event.is_null()) {
        ++merged.lost_lines;
        continue;
      }
      const int rank = event["pid"].get<int>();
      if (rank == merged.clocks.begin()->first && text(event, "cat") == "bucket") {
        merged.sizes.add(count(event["args"], "bytes"));
      }
      const auto found = merged.clocks.find(rank);
      if (found == merged.clocks.end()) {   // it was written meanwhile
        ++merged.lost_lines;
        continue;
      }
      const ClockOffset& offset = found->second;
      changed = line;
      if (aligned.contains(rank)) {
        // Its times are those of the first rank already.
      } else if (tells_clock(event)) {
        tell_clock(event, offset, changed);
      } else if (!offset.points.empty() && event.contains("ts")) {
        shift(event, offset, changed);
      }
      file->add(changed);
      ++merged.events;
    }
    if (!lines->trouble().empty()) {
      return Status(Code::unavailable,
                    cat(part, ": line ", lines->line(), ": ", lines->trouble()));
    }
  }
  if (Status bad = file->close(); !bad.ok()) return bad;
  if (std::rename(unfinished.path().c_str(), place->c_str()) != 0) {
    return Status(Code::unavailable, cat("cannot write ", path, ": ", std::strerror(errno)));
  }
  unfinished.keep();
  return merged;
}

}  // namespace unisono::tools
