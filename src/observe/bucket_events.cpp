// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "observe/bucket_events.hpp"

#include <algorithm>

#include "base/data/text.hpp"

namespace unisono::observe {
namespace {

constexpr const char* kLaneNames[] = {"negotiate", "wait for others", "move"};
constexpr const char* kCategories[] = {"negotiate", "wait", "move"};

}  // namespace

void BucketEvents::write(std::span<const TensorTiming> bucket, EventFile& file) {
  const TensorTiming& first = bucket.front();
  const Stations& at = first.at;
  Time submitted = at.submitted, agreed = at.agreed;
  std::uint64_t bytes = 0;
  std::string tensors;
  for (const TensorTiming& tensor : bucket) {
    submitted = std::min(submitted, tensor.at.submitted);
    agreed = std::max(agreed, tensor.at.agreed);
    bytes += tensor.bytes;
    if (!tensors.empty()) tensors += ',';
    append(tensors, "{\"name\":", JsonText{tensor.name()}, ",\"bytes\":", tensor.bytes,
           ",\"ready_before_us\":", Microseconds{at.begun - tensor.at.submitted},
           ",\"agreed_before_us\":", Microseconds{at.begun - tensor.at.agreed}, "}");
  }
  std::string title(first.name());
  if (bucket.size() > 1) title += cat(" +", bucket.size() - 1);

  slice(negotiate, lane(negotiate, submitted, agreed, file), title, submitted, agreed, file);
  const auto waited = [&](std::string_view name, Time begin, Time end) {
    if (end > begin) slice(wait, lane(wait, begin, end, file), name, begin, end, file);
  };
  waited("buckets before it", agreed, at.begun);
  waited("the last rank", at.packed, at.joined);

  const int row = lane(move, at.begun, at.done, file);
  file.add("{\"name\":", JsonText{title}, ",\"cat\":\"bucket\",\"ph\":\"X\",\"pid\":", rank_,
           ",\"tid\":", row, ",\"ts\":", Microseconds{at.begun - Time{}},
           ",\"dur\":", Microseconds{at.done - at.begun}, ",\"args\":{\"set\":", first.set,
           ",\"bucket\":", first.bucket, ",\"kind\":\"", name_of(first.kind),
           "\",\"bytes\":", bytes, ",\"packed_after_us\":", Microseconds{at.packed - at.begun},
           ",\"joined_after_us\":", Microseconds{at.joined - at.begun},
           ",\"moved_after_us\":", Microseconds{at.moved - at.begun}, ",\"tensors\":[", tensors,
           "]}}");
  const auto part = [&](std::string_view name, Time begin, Time end) {
    if (end > begin) slice(move, row, name, begin, end, file);
  };
  part("pack", at.begun, at.packed);
  part("move", at.joined, at.moved);
  part("unpack", at.moved, at.done);
}

int BucketEvents::lane(Kind kind, Time begin, Time end, EventFile& file) {
  std::vector<Time>& lanes = free_from_[kind];
  auto free = std::find_if(lanes.begin(), lanes.end(), [&](Time from) { return from <= begin; });
  const int first = static_cast<int>(kind * kLanesMax) + 1;
  if (free == lanes.end() && lanes.size() < kLanesMax) {
    const int row = first + static_cast<int>(lanes.size());
    const std::string number = lanes.empty() ? "" : cat(" ", lanes.size() + 1);
    file.add(naming_event("thread_name", rank_, row, cat(kLaneNames[kind], number)));
    // Viewers would otherwise put the busiest row first.
    file.add("{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":", rank_, ",\"tid\":", row,
             ",\"args\":{\"sort_index\":", row, "}}");
    free = lanes.insert(lanes.end(), end);
  } else if (free == lanes.end()) {
    --free;
  }
  *free = std::max(*free, end);
  return first + static_cast<int>(free - lanes.begin());
}

void BucketEvents::slice(Kind kind, int row, std::string_view name, Time begin, Time end,
                         EventFile& file) {
  file.add("{\"name\":", JsonText{name}, ",\"cat\":\"", kCategories[kind],
           "\",\"ph\":\"X\",\"pid\":", rank_, ",\"tid\":", row,
           ",\"ts\":", Microseconds{begin - Time{}},
           ",\"dur\":", Microseconds{std::max(end - begin, Nanos(0))}, "}");
}

}  // namespace unisono::observe
