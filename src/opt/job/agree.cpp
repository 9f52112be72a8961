// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/job/agree.hpp"

#include "opt/job/text.hpp"

namespace unisono::opt {

Result<std::vector<std::vector<std::byte>>> gather_bytes(Engine& engine,
                                                         std::span<const std::byte> mine) {
  const std::uint64_t own = mine.size();
  const Ticket lengths =
      engine.allgather<std::uint64_t>("opt.lengths", std::span<const std::uint64_t>(&own, 1));
  if (Status bad = lengths.wait(); !bad.ok()) return bad;
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(engine.size()));
  const Output told = lengths.output();
  if (told.bytes.size() != sizes.size() * sizeof own) {
    return Status(Code::internal, "a gather of one number from each rank has another length");
  }
  std::memcpy(sizes.data(), told.bytes.data(), told.bytes.size());

  const std::span data(reinterpret_cast<const std::uint8_t*>(mine.data()), mine.size());
  const Ticket gathered = engine.allgather<std::uint8_t>("opt.bytes", data);
  if (Status bad = gathered.wait(); !bad.ok()) return bad;
  const Output all = gathered.output();
  std::vector<std::vector<std::byte>> parts;
  std::size_t at = 0;
  for (const std::uint64_t size : sizes) {
    if (all.bytes.size() - at < size) return Status(Code::internal, "a gather is too short");
    const auto part = all.bytes.subspan(at, size);
    parts.emplace_back(part.begin(), part.end());
    at += size;
  }
  return parts;
}

Status agree(Engine& engine, const Status& mine) {
  std::string told;
  if (!mine.ok()) {
    told.push_back(static_cast<char>(mine.code()));
    told += mine.message();
  }
  const auto all = gather<char>(engine, std::span<const char>(told));
  if (!all.ok()) return mine.ok() ? all.status() : mine;
  for (const std::vector<char>& each : all.value()) {
    if (each.empty()) continue;
    return Status(static_cast<Code>(each[0]), std::string(each.begin() + 1, each.end()));
  }
  return {};
}

Status sum_over_ranks(Engine& engine, std::span<double> numbers) {
  if (engine.size() == 1) return {};
  return engine.allreduce<double>("opt.sum", numbers, {.op = ReduceOp::sum}).wait();
}

}  // namespace unisono::opt
