// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/workload.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "base/data/text.hpp"

namespace unisono::sim {
namespace {

// What sums and conversions to nanoseconds hold without overflow, by a wide margin.
constexpr std::int64_t kBytesMax = 1'000'000'000'000'000'000;
constexpr double kTimeMax_us = 1e12;

// Why a tensor cannot be; empty when it can.
std::string_view impossible(const WorkloadTensor& tensor) {
  if (tensor.bytes <= 0 || !(tensor.ready_us >= 0)) {
    return "needs bytes above 0 and ready_us of 0 or more";
  }
  if (tensor.bytes > kBytesMax || tensor.ready_us > kTimeMax_us) {
    return "needs bytes of at most 10^18 and ready_us of at most 10^12";
  }
  if (!(tensor.forward_us >= 0)) return "needs forward_us of 0 or more";
  if (tensor.forward_us > tensor.ready_us) {
    return "has its gradient (ready_us) before the forward pass comes to it (forward_us)";
  }
  return {};
}

}  // namespace

std::int64_t Workload::bytes() const {
  std::int64_t sum = 0;
  for (const WorkloadTensor& tensor : tensors) sum += tensor.bytes;
  return sum;
}

void hand_over_at_end(Workload& workload) {
  for (WorkloadTensor& tensor : workload.tensors) tensor.ready_us = workload.compute_us;
}

Workload with_batch(Workload workload, double samples, double fixed_share) {
  UNISONO_CHECK(workload.batch > 0 && samples > 0);
  const double factor = fixed_share + (1 - fixed_share) * samples / workload.batch;
  workload.batch = samples;
  workload.compute_us *= factor;
  workload.forward_us *= factor;
  for (WorkloadTensor& tensor : workload.tensors) {
    tensor.ready_us *= factor;
    tensor.forward_us *= factor;
  }
  return workload;
}

Status finish_workload(Workload& workload) {
  const auto wrong = [&](std::string why) {
    return Status(Code::invalid_argument, cat("the trace ", workload.name, ": ", why));
  };
  if (workload.tensors.empty()) return wrong("it lists no tensors");
  std::vector<std::string_view> names;
  std::int64_t left = kBytesMax;
  for (const WorkloadTensor& tensor : workload.tensors) {
    if (const std::string_view why = impossible(tensor); !why.empty()) {
      return wrong(cat("tensor ", tensor.name, " ", why));
    }
    if (tensor.bytes > left) return wrong("its tensors have more than 10^18 bytes together");
    left -= tensor.bytes;
    names.push_back(tensor.name);
  }
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
    return wrong(cat("tensor ", *twice, " is listed twice"));
  }
  std::stable_sort(workload.tensors.begin(), workload.tensors.end(),
                   [](const auto& a, const auto& b) { return a.ready_us < b.ready_us; });
  workload.compute_us = std::max(workload.compute_us, workload.tensors.back().ready_us);
  if (!(workload.compute_us > 0)) return wrong("nothing takes any time; give ready_us");
  if (workload.compute_us > kTimeMax_us) return wrong("compute_us is above 10^12");
  if (!(workload.forward_us >= 0) || workload.forward_us > workload.compute_us) {
    return wrong("forward_us, the length of the forward pass, is not within compute_us");
  }
  for (const WorkloadTensor& tensor : workload.tensors) {
    if (workload.forward_us == 0 || tensor.forward_us <= workload.forward_us) continue;
    return wrong(cat("tensor ", tensor.name, " is needed after the end of the forward pass"));
  }
  return {};
}

}  // namespace unisono::sim
