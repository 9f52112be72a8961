// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "observe/timeline.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/data/text.hpp"

namespace unisono::observe {
namespace {

constexpr std::chrono::milliseconds kLook{20};
constexpr const char* kEnd = "\n]\n";

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
      out += code.data();
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string microseconds(Nanos d) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f", static_cast<double>(d.count()) * 1e-3);
  return text.data();
}

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

}  // namespace

std::string timeline_path(const std::string& path, Rank rank) {
  if (rank == 0) return path;
  const std::size_t dot = path.rfind('.');
  const std::size_t slash = path.rfind('/');
  const bool ends = dot == std::string::npos || (slash != std::string::npos && dot < slash);
  return ends ? cat(path, ".", rank) : cat(path.substr(0, dot), ".", rank, path.substr(dot));
}

Result<std::unique_ptr<Timeline>> Timeline::open(const std::string& path, Rank rank,
                                                 std::string_view host, Timings& timings,
                                                 bool mark_cycles) {
  const std::string own = timeline_path(path, rank);
  std::FILE* file = std::fopen(own.c_str(), "w");
  if (file == nullptr) {
    return Status(Code::invalid_argument,
                  cat("rank ", rank, " cannot write the timeline ", own, ": ", std::strerror(errno),
                      "; name a file in a folder that exists and may be written"));
  }
  std::unique_ptr<Timeline> timeline(new Timeline(file, rank, timings));
  std::fputs("[", file);
  timeline->event(cat("{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":", rank,
                      ",\"args\":{\"name\":", json_text(cat("rank ", rank, " (", host, ")")),
                      "}}"));
  std::fputs(kEnd, file);
  std::fflush(file);
  timings.keep_rounds(mark_cycles);
  timeline->thread_ = std::thread([self = timeline.get()] { self->watch(); });
  return timeline;
}

Timeline::Timeline(std::FILE* file, Rank rank, Timings& timings)
    : file_(file), rank_(rank), timings_(timings), seen_(timings.count()) {}

Timeline::~Timeline() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  thread_.join();
  timings_.keep_rounds(false);
  timings_.take_rounds();
  std::fclose(file_);
}

void Timeline::watch() {
  std::unique_lock lock(mutex_);
  try {
    while (!closing_) {
      write_news();
      wake_.wait_for(lock, kLook, [this] { return closing_; });
    }
    write_news();
  } catch (const std::bad_alloc&) {
    std::fputs(kEnd, file_);                // training goes on without the rest of the timeline
  }
}

void Timeline::write_news() {
  const std::uint64_t before = seen_;
  const std::vector<TensorTiming> tensors = timings_.since(seen_);
  const std::vector<Time> rounds = timings_.take_rounds();
  if (tensors.empty() && rounds.empty()) return;
  std::fseek(file_, -static_cast<long>(std::strlen(kEnd)), SEEK_CUR);
  const std::uint64_t missed = seen_ - before - tensors.size();
  if (missed > 0) {
    missed_ += missed;
    event(cat("{\"name\":\"", missed_,
              " tensors came too fast to be written\",\"ph\":\"i\",\"s\":\"p\",", "\"pid\":", rank_,
              ",\"tid\":0,\"ts\":", microseconds(tensors.front().at.submitted - Time{}), "}"));
  }
  for (const Time round : rounds) {
    event(cat("{\"name\":\"CYCLE_START\",\"ph\":\"i\",\"s\":\"p\",\"pid\":", rank_,
              ",\"tid\":0,\"ts\":", microseconds(round - Time{}), "}"));
  }
  for (const TensorTiming& tensor : tensors) write_tensor(tensor);
  std::fputs(kEnd, file_);
  std::fflush(file_);
}

void Timeline::write_tensor(const TensorTiming& tensor) {
  const int row = row_of(tensor.name.data());
  const Stations& at = tensor.at;
  const std::string negotiate = cat("NEGOTIATE_", upper(name_of(tensor.kind)));
  const struct {
    const char* name;
    Time begin, end;
  } stretches[] = {{negotiate.c_str(), at.submitted, at.agreed},
                   {"WAIT_FOR_OTHER_TENSOR_DATA", at.agreed, at.begun},
                   {"PACK", at.begun, at.packed},
                   {"WAIT_FOR_DATA", at.packed, at.joined},
                   {"MOVE", at.joined, at.moved},
                   {"UNPACK", at.moved, at.done}};
  for (const auto& stretch : stretches) {
    // Negotiation is always written, however short: it shows that the tensor came, and when.
    if (stretch.end <= stretch.begin && stretch.begin != at.submitted) continue;
    event(cat("{\"name\":\"", stretch.name, "\",\"ph\":\"X\",\"pid\":", rank_, ",\"tid\":", row,
              ",\"ts\":", microseconds(stretch.begin - Time{}),
              ",\"dur\":", microseconds(std::max(stretch.end - stretch.begin, Nanos(0))),
              ",\"args\":{\"bytes\":", tensor.bytes, ",\"bucket\":", tensor.bucket, "}}"));
  }
}

int Timeline::row_of(const std::string& name) {
  const auto [it, fresh] = rows_.try_emplace(name, static_cast<int>(rows_.size()) + 1);
  if (fresh) {
    event(cat("{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":", rank_, ",\"tid\":", it->second,
              ",\"args\":{\"name\":", json_text(name), "}}"));
  }
  return it->second;
}

void Timeline::event(const std::string& json) {
  std::fputs(first_ ? "\n" : ",\n", file_);
  std::fputs(json.c_str(), file_);
  first_ = false;
}

}  // namespace unisono::observe
