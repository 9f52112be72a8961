// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "observe/timeline.hpp"

#include <algorithm>
#include <cctype>
#include <new>
#include <vector>

#include "base/data/text.hpp"

namespace unisono::observe {
namespace {

constexpr std::chrono::milliseconds kLook{20};

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
                                                 Form form) {
  auto file = EventFile::open(timeline_path(path, rank), form == Form::trace ? "trace" : "timeline",
                              rank);
  if (!file) return file.status();
  timings.keep_for_writer();
  std::unique_ptr<Timeline> timeline(new Timeline(std::move(*file), rank, timings, form));
  timeline->file_.add(naming_event("process_name", rank, 0, cat("rank ", rank, " (", host, ")")));
  timeline->file_.add(clock_event(rank));
  timeline->file_.flush();
  if (form == Form::timeline_with_cycles) timings.keep_rounds(true);
  timeline->thread_ = std::thread([self = timeline.get()] { self->watch(); });
  return timeline;
}

Timeline::Timeline(EventFile file, Rank rank, Timings& timings, Form form)
    : file_(std::move(file)),
      rank_(rank),
      timings_(timings),
      form_(form),
      seen_(timings.count()),
      buckets_(rank) {}

Timeline::~Timeline() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  thread_.join();
  static_cast<void>(file_.close());         // what was wrong with it was told before
  if (form_ != Form::timeline_with_cycles) return;
  timings_.keep_rounds(false);
  timings_.take_rounds();
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
    // Training goes on without the rest of the timeline; what was written is whole.
  }
}

void Timeline::write_news() {
  const std::uint64_t before = seen_;
  const std::vector<TensorTiming> tensors = timings_.since(seen_);
  std::vector<Time> rounds;
  if (form_ == Form::timeline_with_cycles) rounds = timings_.take_rounds();
  const std::uint64_t missed = seen_ - before - tensors.size();
  if (missed > 0) {
    missed_ += missed;
    file_.add("{\"name\":\"", missed_,
              " tensors came too fast to be written\",\"ph\":\"i\",\"s\":\"p\",", "\"pid\":", rank_,
              ",\"tid\":0,\"ts\":", Microseconds{tensors.front().at.submitted - Time{}},
              ",\"args\":{\"missed\":", missed, "}}");
  }
  for (const Time round : rounds) {
    file_.add("{\"name\":\"CYCLE_START\",\"ph\":\"i\",\"s\":\"p\",\"pid\":", rank_,
              ",\"tid\":0,\"ts\":", Microseconds{round - Time{}}, "}");
  }
  for (std::size_t i = 0; i < tensors.size();) {
    std::size_t end = i + 1;
    if (form_ == Form::trace) {
      while (end < tensors.size() && tensors[end].bucket == tensors[i].bucket &&
             tensors[end].set == tensors[i].set) {
        ++end;
      }
      buckets_.write({tensors.data() + i, end - i}, file_);
    } else {
      write_tensor(tensors[i]);
    }
    i = end;
  }
  file_.flush();
}

void Timeline::write_tensor(const TensorTiming& tensor) {
  const int row = row_of(std::string(tensor.name()));
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
    // Of a move, mergers ask also when this rank began, to align the clocks of hosts.
    const std::string begun =
        stretch.begin == at.joined
            ? cat(",\"set\":", tensor.set, ",\"kind\":\"", name_of(tensor.kind),
                  "\",\"begun_before_us\":", Microseconds{at.joined - at.begun})
            : "";
    file_.add("{\"name\":\"", stretch.name, "\",\"ph\":\"X\",\"pid\":", rank_, ",\"tid\":", row,
              ",\"ts\":", Microseconds{stretch.begin - Time{}},
              ",\"dur\":", Microseconds{std::max(stretch.end - stretch.begin, Nanos(0))},
              ",\"args\":{\"bytes\":", tensor.bytes, ",\"bucket\":", tensor.bucket, begun, "}}");
  }
}

int Timeline::row_of(const std::string& name) {
  const auto [it, fresh] = rows_.try_emplace(name, static_cast<int>(rows_.size()) + 1);
  if (fresh) file_.add(naming_event("thread_name", rank_, it->second, name));
  return it->second;
}

}  // namespace unisono::observe
