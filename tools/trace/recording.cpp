// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/recording.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/data/text.hpp"
#include "trace/event_lines.hpp"

namespace unisono::tools {
namespace {

using nlohmann::json;

// 2 GiB of records.
constexpr std::size_t kTensorsMax = 50'000'000;
constexpr double kRanksMax = 1'000'000;
constexpr double kTimeMax_us = 1e15;        // 30 years
constexpr double kBytesMax = 1e15;

// What is wrong with a line; empty when nothing is.
using Fault = std::string;

class Reader {
 public:
  Fault take(std::string_view line) {
    json event;
    try {
      event = json::parse(line);
    } catch (const json::exception& error) {
      const std::string_view all = error.what();
      const std::size_t end = all.find("] ");
      return cat("it is not a whole event: ", end == all.npos ? all : all.substr(end + 2));
    }
    if (!event.is_object()) return "it is not an event";
    double rank = 0;
    if (Fault bad = number(event, "pid", 0, kRanksMax, rank); !bad.empty()) return bad;
    ClockRecord& clock = all_.ranks[static_cast<int>(rank)];
    if (text(event, "cat") == "bucket") return take_bucket(event, static_cast<int>(rank));
    const auto arguments = event.find("args");
    if (arguments == event.end() || !arguments->is_object()) return {};
    if (text(event, "name") == "clock" && arguments->contains("by")) {
      clock.by = text(*arguments, "by");
      Fault bad = number(*arguments, "offset_us", -kTimeMax_us, kTimeMax_us, clock.offset_us);
      return !bad.empty()
                 ? bad
                 : number(*arguments, "uncertain_us", -1, kTimeMax_us, clock.uncertain_us);
    }
    if (!arguments->contains("missed")) return {};
    double missed = 0;
    Fault bad = number(*arguments, "missed", 0, kBytesMax, missed);
    all_.missed += static_cast<std::uint64_t>(missed);
    return bad;
  }

  Recording take_all() { return std::move(all_); }

 private:
  static std::string text(const json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() || !found->is_string() ? "" : found->get<std::string>();
  }

  static Fault number(const json& object, const char* key, double least, double most,
                      double& value) {
    const auto found = object.find(key);
    if (found == object.end()) return cat('"', key, "\" is missing");
    if (!found->is_number()) return cat('"', key, "\" is not a number");
    value = found->get<double>();
    if (value >= least && value <= most) return {};
    return cat('"', key, "\" is ", value, ", which cannot be");
  }

  std::uint32_t id_of(std::string name) {
    const auto [found, fresh] =
        ids_.try_emplace(std::move(name), static_cast<std::uint32_t>(all_.names.size()));
    if (fresh) all_.names.push_back(found->first);
    return found->second;
  }

  Fault take_bucket(const json& event, int rank) {
    BucketRecord bucket;
    bucket.rank = rank;
    const auto arguments = event.find("args");
    if (arguments == event.end() || !arguments->is_object()) return "\"args\" is missing";
    double begun = 0, lasted = 0, set = 0, id = 0, bytes = 0, packed = 0, joined = 0, moved = 0;
    const struct {
      const json& object;
      const char* key;
      double most;
      double& value;
    } numbers[] = {{event, "ts", kTimeMax_us, begun},
                   {event, "dur", kTimeMax_us, lasted},
                   {*arguments, "set", std::numeric_limits<std::uint32_t>::max(), set},
                   {*arguments, "bucket", kBytesMax, id},
                   {*arguments, "bytes", kBytesMax, bytes},
                   {*arguments, "packed_after_us", kTimeMax_us, packed},
                   {*arguments, "joined_after_us", kTimeMax_us, joined},
                   {*arguments, "moved_after_us", kTimeMax_us, moved}};
    for (const auto& one : numbers) {
      // A clock that was aligned may begin before zero.
      const double least = one.key == std::string_view("ts") ? -kTimeMax_us : 0;
      if (Fault bad = number(one.object, one.key, least, one.most, one.value); !bad.empty()) {
        return bad;
      }
    }
    bucket.set = static_cast<std::uint32_t>(set);
    bucket.id = static_cast<std::uint64_t>(id);
    bucket.bytes = static_cast<std::uint64_t>(bytes);
    bucket.begun_us = begun;
    bucket.packed_us = begun + packed;
    bucket.joined_us = begun + joined;
    bucket.moved_us = begun + moved;
    bucket.done_us = begun + lasted;
    bucket.kind = id_of(text(*arguments, "kind"));
    bucket.first = all_.tensors.size();
    const auto tensors = arguments->find("tensors");
    if (tensors == arguments->end() || !tensors->is_array()) return "\"tensors\" is not a list";
    if (tensors->empty()) return "\"tensors\" is empty";
    for (const json& entry : *tensors) {
      if (Fault bad = take_tensor(entry, begun); !bad.empty()) {
        return cat("tensors[", all_.tensors.size() - bucket.first, "]: ", bad);
      }
    }
    bucket.count = all_.tensors.size() - bucket.first;
    all_.buckets.push_back(bucket);
    if (all_.tensors.size() <= kTensorsMax) return {};
    return cat("there are more than ", kTensorsMax, " tensors; record fewer steps");
  }

  Fault take_tensor(const json& entry, double begun) {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) {
      return "it has no \"name\"";
    }
    double bytes = 0, ready = 0, agreed = 0;
    Fault bad = number(entry, "bytes", 0, kBytesMax, bytes);
    if (bad.empty()) bad = number(entry, "ready_before_us", -kTimeMax_us, kTimeMax_us, ready);
    if (bad.empty()) bad = number(entry, "agreed_before_us", -kTimeMax_us, kTimeMax_us, agreed);
    if (!bad.empty()) return bad;
    all_.tensors.push_back({id_of(entry["name"].get<std::string>()),
                            static_cast<std::uint64_t>(bytes), begun - ready, begun - agreed});
    return {};
  }

  Recording all_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

}  // namespace

Result<Recording> read_recording(const std::string& path) {
  auto lines = EventLines::open(path);
  if (!lines) return lines.status();
  const auto wrong = [&](std::string_view why) {
    return Status(Code::invalid_argument, cat(path, ": line ", lines->line(), ": ", why));
  };
  const std::string mend =
      cat("; unisono trace merge ", path, " -o MENDED.json keeps what is whole");
  Reader reader;
  std::string_view event;
  while (lines->next(event)) {
    if (!lines->opened()) return wrong("it is not \"[\", with which a trace begins");
    if (Fault bad = reader.take(event); !bad.empty()) return wrong(cat(bad, mend));
  }
  if (!lines->trouble().empty()) return wrong(lines->trouble());
  if (!lines->closed()) {
    return wrong(cat("the file is cut off: there is no \"]\" at its end", mend));
  }
  Recording all = reader.take_all();
  if (all.buckets.empty()) {
    return Status(Code::invalid_argument,
                  cat(path, ": there is no bucket in it: is it a trace (unisono run --trace), and "
                            "did the program exchange anything?"));
  }
  return all;
}

}  // namespace unisono::tools
