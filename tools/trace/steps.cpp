// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/steps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/data/text.hpp"
#include "trace/quantile.hpp"

namespace unisono::tools {
namespace {

struct Moment {
  double ready_us, done_us;
  std::uint64_t bytes;
};
using Key = std::pair<std::uint32_t, std::uint32_t>;    // process set and name
using Times = std::map<Key, std::vector<Moment>>;         // each in the order of its submissions

// Gradients are reduced; what is gathered or broadcast is something else.
std::map<int, Times> times_of(const Recording& recording) {
  std::map<int, Times> ranks;
  for (const BucketRecord& bucket : recording.buckets) {
    const std::string& kind = recording.names[bucket.kind];
    if (kind != "allreduce" && kind != "reducescatter") continue;
    for (const TensorRecord& tensor : recording.of(bucket)) {
      if (tensor.bytes == 0) continue;
      ranks[bucket.rank][{bucket.set, tensor.name}].push_back(
          {tensor.ready_us, bucket.done_us, tensor.bytes});
    }
  }
  for (auto& [rank, times] : ranks) {
    for (auto& [key, list] : times) {
      std::stable_sort(list.begin(), list.end(),
                       [](const Moment& a, const Moment& b) { return a.ready_us < b.ready_us; });
    }
  }
  return ranks;
}

// How often most of the bytes come. What comes once, such as a check before the training, is in no
// step.
std::size_t usual_count(const std::map<int, Times>& ranks) {
  std::map<std::size_t, double> bytes;
  for (const auto& [rank, times] : ranks) {
    for (const auto& [key, list] : times) {
      if (list.size() < 2) continue;
      bytes[list.size()] += static_cast<double>(list.front().bytes * list.size());
    }
  }
  std::size_t usual = 1;
  double most = 0;
  for (const auto& [count, sum] : bytes) {
    if (sum < most) continue;
    usual = count;
    most = sum;
  }
  return usual;
}

// A job that was ended in the middle of a step has had some tensors once more than others.
bool in_step(std::size_t count, std::size_t usual) {
  return count + 1 >= usual && count <= usual + 1;
}

constexpr double kNeverEnded = -std::numeric_limits<double>::infinity();

// When each step of a rank ends, which is when the next one begins.
std::vector<double> ends_of(const Times& times, std::size_t usual) {
  std::vector<double> ends;
  for (const auto& [key, list] : times) {
    if (!in_step(list.size(), usual)) continue;
    ends.resize(std::max(ends.size(), list.size()), kNeverEnded);
    for (std::size_t k = 0; k < list.size(); ++k) {
      ends[k] = std::max(ends[k], list[k].done_us);
    }
  }
  return ends;
}

}  // namespace

std::uint64_t Steps::bytes() const {
  std::uint64_t sum = 0;
  for (const StepTensor& tensor : tensors) sum += tensor.bytes;
  return sum;
}

Result<Steps> find_steps(const Recording& recording) {
  const std::map<int, Times> ranks = times_of(recording);
  const std::size_t usual = usual_count(ranks);
  if (usual < 2) {
    return Status(Code::invalid_argument,
                  ranks.empty() ? "nothing was reduced"
                                : "no step can be told from the next, since every tensor comes "
                                  "only once; record more steps, and use the same names in each");
  }
  Steps steps;
  std::map<Key, StepTensor> tensors;
  std::map<Key, bool> others;
  for (const auto& [rank, times] : ranks) {
    const std::vector<double> ends = ends_of(times, usual);
    std::vector<double> lengths;
    for (std::size_t k = 1; k < ends.size(); ++k) lengths.push_back(ends[k] - ends[k - 1]);
    if (lengths.empty()) continue;
    steps.count = std::max<std::uint64_t>(steps.count, ends.size());
    steps.step_us = std::max(steps.step_us, quantile(lengths, 0.5));
    for (const auto& [key, list] : times) {
      if (!in_step(list.size(), usual) || list.size() < 2) {
        others[key] = true;
        continue;
      }
      std::vector<double> ready;
      for (std::size_t k = 1; k < list.size(); ++k) {
        ready.push_back(list[k].ready_us - ends[k - 1]);
        if (ready.back() < 0) ++steps.early;
      }
      StepTensor& tensor = tensors[key];
      tensor.name = recording.names[key.second];
      if (key.first != 0) tensor.name += cat(" (set ", key.first, ")");
      tensor.bytes = std::max(tensor.bytes, list.back().bytes);
      const double median = std::max(quantile(ready, 0.5), 0.0);
      tensor.ready_us_by_rank[rank] = median;
      tensor.ready_us = std::max(tensor.ready_us, median);
    }
  }
  if (tensors.empty()) {
    return Status(Code::invalid_argument, "no rank has recorded two whole steps");
  }
  for (auto& [key, tensor] : tensors) steps.tensors.push_back(std::move(tensor));
  for (const auto& [key, one] : others) steps.left_out += tensors.contains(key) ? 0 : 1;
  std::stable_sort(steps.tensors.begin(), steps.tensors.end(),
                   [](const auto& a, const auto& b) { return a.ready_us < b.ready_us; });
  return steps;
}

std::string compact_json(const Steps& steps, std::size_t ranks) {
  using nlohmann::ordered_json;
  ordered_json tensors = ordered_json::array();
  const auto rounded = [](double us) { return std::round(us * 1e3) / 1e3; };
  for (const StepTensor& tensor : steps.tensors) {
    ordered_json by_rank = ordered_json::object();
    for (const auto& [rank, us] : tensor.ready_us_by_rank) by_rank[cat(rank)] = rounded(us);
    tensors.push_back({{"name", tensor.name},
                       {"bytes", tensor.bytes},
                       {"ready_us", rounded(tensor.ready_us)},
                       {"ready_us_by_rank", std::move(by_rank)}});
  }
  const ordered_json all{{"tensors", std::move(tensors)},
                         {"compute_us", rounded(steps.tensors.back().ready_us)},
                         {"measured", {{"ranks", ranks},
                                       {"steps", steps.count},
                                       {"step_us", rounded(steps.step_us)}}}};
  return all.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace unisono::tools
