// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/cache/bits.hpp"

#include <bit>

#include "order/messages/varint.hpp"

namespace unisono::order {
namespace {

// Opening a run costs two bytes or so, so fewer empty bytes than this are cheaper carried along.
constexpr std::uint32_t kGapBytesMin = 3;
constexpr std::uint64_t kPositionMax = std::uint64_t{1} << 31;

struct Run {
  std::uint64_t skipped;                // bytes since the end of the run before
  std::vector<std::uint8_t> bytes;
};

std::vector<Run> runs_of(const std::vector<std::uint32_t>& positions) {
  std::vector<Run> runs;
  std::uint64_t end = 0;                // bytes covered so far
  for (const std::uint32_t position : positions) {
    const std::uint64_t at = position / 8;
    if (runs.empty() || at >= end + kGapBytesMin) {
      runs.push_back({at - end, {}});
      end = at;
    }
    for (; end <= at; ++end) runs.back().bytes.push_back(0);
    runs.back().bytes.back() |= static_cast<std::uint8_t>(1u << (position % 8));
  }
  return runs;
}

ByteWriter as_runs(const std::vector<std::uint32_t>& positions) {
  const std::vector<Run> runs = runs_of(positions);
  ByteWriter out;
  put_varint(out, runs.size() << 1);
  for (const Run& run : runs) {
    put_varint(out, run.skipped);
    put_varint(out, run.bytes.size());
    out.put_raw(std::as_bytes(std::span(run.bytes)));
  }
  return out;
}

// Steps from one position to the next: shorter while the bits are few and far between.
ByteWriter as_steps(const std::vector<std::uint32_t>& positions) {
  ByteWriter out;
  put_varint(out, positions.size() << 1 | 1);
  std::uint64_t next = 0;                 // the least that may follow
  for (const std::uint32_t position : positions) {
    put_varint(out, position - next);
    next = std::uint64_t{position} + 1;
  }
  return out;
}

std::vector<std::uint32_t> get_steps(ByteReader& in, std::uint64_t count) {
  std::vector<std::uint32_t> positions;
  if (count > in.remaining()) in.fail();
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    const std::uint64_t step = get_varint(in);
    if (step > kPositionMax || next + step >= kPositionMax) {
      in.fail();
      break;
    }
    positions.push_back(static_cast<std::uint32_t>(next + step));
    next += step + 1;
  }
  return positions;
}

}  // namespace

void put_positions(ByteWriter& out, const std::vector<std::uint32_t>& positions) {
  if (positions.empty()) return put_varint(out, 0);
  const ByteWriter runs = as_runs(positions), steps = as_steps(positions);
  out.put_raw((steps.size() < runs.size() ? steps : runs).bytes());
}

std::vector<std::uint32_t> get_positions(ByteReader& in) {
  std::vector<std::uint32_t> positions;
  const std::uint64_t head = get_varint(in);
  if ((head & 1) != 0) return get_steps(in, head >> 1);
  const std::uint64_t runs = head >> 1;
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < runs && in.ok(); ++i) {
    const std::uint64_t skipped = get_varint(in);
    if (skipped > kPositionMax) in.fail();
    at += skipped;
    const auto bytes = in.get_raw(get_varint(in));
    if (bytes.empty() || bytes.back() == std::byte{0} || at + bytes.size() > kPositionMax / 8) {
      in.fail();
      break;
    }
    for (const std::byte byte : bytes) {
      for (unsigned bits = std::to_integer<unsigned>(byte); bits != 0; bits &= bits - 1) {
        positions.push_back(
            static_cast<std::uint32_t>(at * 8 + static_cast<unsigned>(std::countr_zero(bits))));
      }
      ++at;
    }
  }
  return positions;
}

}  // namespace unisono::order
