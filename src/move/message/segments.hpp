// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How the tensors of a bucket are cut into segments: as if all regions lay back to back, every
// member owns an equal slice of the elements, and its slice is cut at the ends of regions and every
// kSegmentBytes, so that each segment is one piece of memory. A long one is cut finer near its two
// ends: the first result leaves the sooner, and the last one has less to wait for. A shorter one is
// cut into as many pieces as there are connections for it. Only lengths and the job's number of
// connections decide, which all members know, so all cut alike wherever their memory lies.
// Pure; thread: any.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "move/collective.hpp"
#include "move/message/patterns.hpp"

namespace unisono::move {

inline constexpr std::size_t kSegmentBytes = 256 << 10;  // a multiple of every element size

inline constexpr std::size_t kFineBytes = 128 << 10;     // at either end of a long slice
inline constexpr std::size_t kLongSliceBytes = 2 << 20;
inline constexpr std::size_t kFineSegmentBytes = 64 << 10;

inline constexpr std::size_t kSharedSegmentBytesMin = 48 << 10;

// stripes: connections for each pair. Of several, the first one is for what is short.
inline std::size_t segment_bytes_of(std::size_t slice_bytes, std::size_t stripes) {
  constexpr std::size_t kStep = 4 << 10;    // a multiple of every element size
  if (stripes < 3 || slice_bytes < kSharedSliceBytes) return kSegmentBytes;
  const std::size_t steps = (slice_bytes / (stripes - 1) + kStep - 1) / kStep;
  return std::clamp(steps * kStep, kSharedSegmentBytesMin, kSegmentBytes);
}

// What of a region travels in one frame.
struct Segment {
  std::span<const std::byte> in;
  std::span<std::byte> out;
  std::int64_t divisor = 1;
  double postscale = 1.0;
};

struct Cut {
  std::vector<Segment> all;                 // by owner
  std::vector<std::size_t> begins;          // of each owner's segments; one more at the end
  std::span<const Segment> of(int owner) const {
    const auto i = static_cast<std::size_t>(owner);
    return std::span(all).subspan(begins[i], begins[i + 1] - begins[i]);
  }
};

inline void cut_region(const Region& region, std::size_t begin, std::size_t end,
                       std::size_t segment_bytes, std::vector<Segment>& out) {
  // Results of partials are shorter.
  const std::size_t ratio = region.out.empty() ? 1 : region.in.size() / region.out.size();
  for (std::size_t at = begin; at < end; at += segment_bytes) {
    const std::size_t length = std::min(segment_bytes, end - at);
    out.push_back({region.in.subspan(at, length), region.out.subspan(at / ratio, length / ratio),
                   region.divisor, region.postscale});
  }
}

// element_bytes: of what is sent to the owners.
inline Cut cut_regions(std::span<const Region> regions, std::size_t element_bytes, int members,
                       std::size_t stripes = 1) {
  std::size_t total = 0;
  for (const Region& region : regions) total += region.in.size();
  Cut cut;
  constexpr std::size_t kFinePerOwner = 2 * kFineBytes / kFineSegmentBytes + 3;
  cut.all.reserve(regions.size() + kFinePerOwner * static_cast<std::size_t>(members) +
                  total / kSegmentBytes);
  std::size_t region_begin = 0;             // of *region, as if all lay back to back
  auto region = regions.begin();
  for (int owner = 0; owner < members; ++owner) {
    cut.begins.push_back(cut.all.size());
    const patterns::Slice slice = patterns::slice_of(total / element_bytes, members, owner);
    const std::size_t end = slice.end * element_bytes;
    std::size_t at = slice.begin * element_bytes;
    const std::size_t fine = end - at >= kLongSliceBytes ? kFineBytes : 0;
    const std::size_t coarse_bytes = segment_bytes_of(end - at, stripes);
    const std::size_t coarse_begin = at + fine, coarse_end = end - fine;
    while (at < end) {
      const std::size_t region_end = region_begin + region->in.size();
      if (at == region_end) {
        region_begin = region_end;
        ++region;
        continue;
      }
      const bool is_coarse = at >= coarse_begin && at < coarse_end;
      const std::size_t part_end = at < coarse_begin ? coarse_begin : is_coarse ? coarse_end : end;
      const std::size_t stop = std::min(part_end, region_end);
      cut_region(*region, at - region_begin, stop - region_begin,
                 is_coarse ? coarse_bytes : kFineSegmentBytes, cut.all);
      at = stop;
    }
  }
  cut.begins.push_back(cut.all.size());
  return cut;
}

}  // namespace unisono::move
