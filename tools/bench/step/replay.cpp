// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/step/replay.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/data/text.hpp"
#include "base/os/cpu.hpp"

namespace unisono::tools {
namespace {

constexpr std::size_t kPeriod = 61, kTouchedEvery = 1024;
constexpr int kStepPeriod = 13;

Nanos microseconds(double us) { return seconds_to_nanos(us * 1e-6); }

float element(std::size_t index, int rank) {
  return static_cast<float>((index + 3 * static_cast<std::size_t>(rank)) % kPeriod);
}

}  // namespace

StepReplay::StepReplay(const sim::Workload& profile, const ReplaySettings& settings)
    : profile_(profile), settings_(settings), tickets_(profile.tensors.size()) {
  constexpr std::size_t kLine = 16;          // floats of 64 bytes
  const std::size_t count = profile.tensors.size();
  std::size_t floats = 0;
  for (const sim::WorkloadTensor& tensor : profile.tensors) {
    offsets_.push_back(floats);
    floats += (static_cast<std::size_t>(tensor.bytes) / 4 + kLine - 1) / kLine * kLine;
  }
  offsets_.push_back(floats);
  input_ = Buffer(floats * 4);
  output_ = Buffer(floats * 4);
  const auto groups =
      std::min(static_cast<std::size_t>(std::max(settings.groups, 0)), count);
  for (std::size_t i = 0; i < count; ++i) {
    const double ready_us = profile.tensors[i].ready_us;
    alone_.push_back({i, i + 1, ready_us});
    const bool joins = groups > 0 && i > 0 && i * groups / count == (i - 1) * groups / count;
    if (joins) {
      grouped_.back().end = i + 1;
      grouped_.back().ready_us = ready_us;
    } else {
      grouped_.push_back(alone_.back());
    }
    const std::span<float> mine = in(i);
    for (std::size_t j = 0; j < mine.size(); ++j) mine[j] = element(j, settings.rank);
  }
  forward_order_.resize(count);
  std::iota(forward_order_.rbegin(), forward_order_.rend(), std::size_t{0});
  std::stable_sort(forward_order_.begin(), forward_order_.end(), [&](std::size_t a, std::size_t b) {
    return profile.tensors[a].forward_us < profile.tensors[b].forward_us;
  });
  clear();
}

std::span<float> StepReplay::in(std::size_t tensor) const {
  return {reinterpret_cast<float*>(input_.span().data()) + offsets_[tensor],
          static_cast<std::size_t>(profile_.tensors[tensor].bytes) / 4};
}

std::span<float> StepReplay::out(std::size_t tensor) const {
  return {reinterpret_cast<float*>(output_.span().data()) + offsets_[tensor],
          static_cast<std::size_t>(profile_.tensors[tensor].bytes) / 4};
}

void StepReplay::clear() { std::memset(output_.span().data(), 0xFF, output_.span().size()); }

void StepReplay::touch(std::size_t tensor) {
  const std::span<float> mine = in(tensor);
  const auto more = static_cast<float>(step_ % kStepPeriod);
  for (std::size_t j = 0; j < mine.size(); j += kTouchedEvery) {
    mine[j] = element(j, settings_.rank) + more;
  }
}

Operation StepReplay::operation(std::size_t tensor) const {
  return {.kind = Collective::allreduce,
          .name = profile_.tensors[tensor].name,
          .dtype = DType::f32,
          .shape = {profile_.tensors[tensor].bytes / 4},
          .input = in(tensor).data(),
          .output = out(tensor).data(),
          .members = {},
          .keep_alive = {}};
}

Status StepReplay::hand_over(Engine& engine, const Unit& unit) {
  Settings sum;
  sum.op = ReduceOp::sum;
  if (unit.end == unit.begin + 1) {
    tickets_[unit.begin] = engine.submit(operation(unit.begin), sum);
    return tickets_[unit.begin].refusal();
  }
  std::vector<Operation> operations;
  for (std::size_t i = unit.begin; i < unit.end; ++i) operations.push_back(operation(i));
  auto tickets = engine.submit_group(cat("group.", unit.begin), std::move(operations), sum);
  std::move(tickets.begin(), tickets.end(),
            tickets_.begin() + static_cast<std::ptrdiff_t>(unit.begin));
  return tickets_[unit.begin].refusal();
}

// Returns by how much the step is behind because of gradients that had not arrived.
Result<Nanos> StepReplay::forward(Time begin) {
  Nanos behind{0};
  for (const std::size_t i : forward_order_) {
    if (tickets_[i].valid()) {
      const Time needed = begin + behind + microseconds(profile_.tensors[i].forward_us);
      wait_until(needed);
      if (Status bad = tickets_[i].wait(); !bad.ok()) return bad;
      behind += std::max(clock_.now() - needed, Nanos(0));
      tickets_[i] = {};
    }
    touch(i);
  }
  return behind;
}

Result<ReplayedStep> StepReplay::step(Engine& engine, bool grouped) {
  ++step_;
  const Time begin = clock_.now();
  auto behind = forward(begin);
  if (!behind) return behind.status();
  const Time computes = begin + *behind;
  Nanos late{0};
  for (const Unit& unit : grouped ? grouped_ : alone_) {
    const Time ready = computes + microseconds(unit.ready_us);
    wait_until(ready);
    late = clock_.now() - ready;
    if (Status bad = hand_over(engine, unit); !bad.ok()) return bad;
  }
  wait_until(computes + microseconds(profile_.compute_us));
  if (!settings_.forward_waits) {
    if (Status bad = finish(); !bad.ok()) return bad;
  }
  return ReplayedStep{nanos_to_seconds(clock_.now() - begin), nanos_to_seconds(late)};
}

Status StepReplay::finish() {
  Status first;
  for (Ticket& ticket : tickets_) {
    if (!ticket.valid()) continue;
    if (Status bad = ticket.wait(); !bad.ok() && first.ok()) first = bad;
    ticket = {};
  }
  return first;
}

Status StepReplay::check() const {
  std::array<float, kPeriod> sums{};
  for (std::size_t phase = 0; phase < kPeriod; ++phase) {
    for (int rank = 0; rank < settings_.ranks; ++rank) sums[phase] += element(phase, rank);
  }
  const auto more = static_cast<float>(settings_.ranks * (step_ % kStepPeriod));
  for (std::size_t i = 0; i < profile_.tensors.size(); ++i) {
    const std::span<const float> result = out(i);
    for (std::size_t j = 0; j < result.size(); ++j) {
      const float wanted = sums[j % kPeriod] + (j % kTouchedEvery == 0 ? more : 0);
      if (std::abs(result[j] - wanted) <= settings_.tolerance * wanted) continue;
      return Status(Code::corrupted,
                    cat("rank ", settings_.rank, ": the sum of '", profile_.tensors[i].name,
                        "' is wrong at element ", j, " of ", result.size(), ": ", result[j],
                        " instead of ", wanted));
    }
  }
  return {};
}

void StepReplay::wait_until(Time at) const {
  const Time sleeps = at + (-settings_.spin);
  if (sleeps > clock_.now()) {
    const timespec when{sleeps.ns / 1'000'000'000, sleeps.ns % 1'000'000'000};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr) != 0 &&
           clock_.now() < sleeps) {
    }
  }
  while (clock_.now() < at) cpu_relax();
}

}  // namespace unisono::tools
