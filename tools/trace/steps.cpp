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

void sort_all(std::map<int, Times>& ranks) {
  for (auto& [rank, times] : ranks) {
    for (auto& [key, list] : times) {
      std::stable_sort(list.begin(), list.end(),
                       [](const Moment& a, const Moment& b) { return a.ready_us < b.ready_us; });
    }
  }
}

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
  sort_all(ranks);
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

// Names that come once, in the order of their submission, and the places in a step that they take.
class Places {
 public:
  // `period` stays 0 when the sizes do not repeat at least three times until the end.
  explicit Places(const Times& once) {
    for (const auto& [key, list] : once) order_.push_back({list.front(), key});
    std::stable_sort(order_.begin(), order_.end(), [](const auto& a, const auto& b) {
      return a.first.ready_us < b.first.ready_us;
    });
    const std::size_t n = order_.size();
    for (std::size_t p = 1; p <= std::min(n / 3, kPeriodMax) && period == 0; ++p) {
      begin_ = n - p;
      while (begin_ > 0 && size_at(begin_ - 1) == size_at(begin_ - 1 + p)) --begin_;
      if (n - begin_ >= std::max(3 * p, n / 2)) period = p;
    }
    if (period == 1) period = by_pauses();
    if (period > 0) begin_ += first_after_pause(period).phase;
  }

  // Calls each by its place; those before the first whole step are left out.
  std::map<Key, std::uint32_t> places() const {
    std::map<Key, std::uint32_t> out;
    for (std::size_t i = begin_; i < order_.size(); ++i) {
      out[order_[i].second] = static_cast<std::uint32_t>((i - begin_) % period);
    }
    return out;
  }

  std::size_t period = 0;

 private:
  static constexpr std::size_t kPeriodMax = 10'000, kAlikeMax = 200;
  static constexpr double kClearly = 2;

  std::uint64_t size_at(std::size_t i) const { return order_[i].first.bytes; }

  struct Pause {
    std::size_t phase = 0;
    double median_us = -1, next_us = -1;    // the longest one's, and that of the next longest
  };
  // The place in a step of p tensors before which the program takes longest.
  Pause first_after_pause(std::size_t p) const {
    Pause longest;
    for (std::size_t phase = 0; phase < p; ++phase) {
      std::vector<double> pauses;
      for (std::size_t i = begin_ + phase; i < order_.size(); i += p) {
        if (i == 0) continue;
        pauses.push_back(order_[i].first.ready_us - order_[i - 1].first.ready_us);
      }
      const double median = lower_quantile(pauses, 0.5);
      if (median > longest.median_us) {
        longest = {phase, median, longest.median_us};
      } else {
        longest.next_us = std::max(longest.next_us, median);
      }
    }
    return longest;
  }
  // Of tensors that are all alike: the shortest step after which there is clearly a pause.
  std::size_t by_pauses() const {
    for (std::size_t p = 2; p <= std::min(order_.size() / 3, kAlikeMax); ++p) {
      const Pause pause = first_after_pause(p);
      if (pause.median_us > kClearly * pause.next_us) return p;
    }
    return 1;
  }

  std::vector<std::pair<Moment, Key>> order_;
  std::size_t begin_ = 0;
};

// The same times under the names of places. Ranks agree on names, so those of the first one do.
bool call_by_places(std::map<int, Times>& ranks, std::vector<std::string>& names) {
  if (ranks.empty()) return false;
  const Places found(ranks.begin()->second);
  if (found.period == 0) return false;
  const std::map<Key, std::uint32_t> places = found.places();
  names.clear();
  for (std::size_t i = 0; i < found.period; ++i) names.push_back(cat("tensor ", i));
  for (auto& [rank, times] : ranks) {
    Times renamed;
    for (const auto& [key, list] : times) {
      const auto place = places.find(key);
      if (place == places.end()) continue;
      auto& all = renamed[{key.first, place->second}];
      all.insert(all.end(), list.begin(), list.end());
    }
    times = std::move(renamed);
  }
  sort_all(ranks);
  return true;
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
  std::map<int, Times> ranks = times_of(recording);
  std::vector<std::string> names = recording.names;
  std::size_t usual = usual_count(ranks);
  Steps steps;
  if (usual < 2 && call_by_places(ranks, names)) {
    steps.by_sizes = true;
    usual = usual_count(ranks);
  }
  if (usual < 2) {
    return Status(Code::invalid_argument,
                  ranks.empty() ? "nothing was reduced"
                                : "no step can be told from the next, since every tensor comes "
                                  "only once and sizes do not repeat; record more steps");
  }
  std::map<Key, StepTensor> tensors;
  std::map<Key, bool> others;
  for (const auto& [rank, times] : ranks) {
    const std::vector<double> ends = ends_of(times, usual);
    std::vector<double> lengths;
    for (std::size_t k = 1; k < ends.size(); ++k) lengths.push_back(ends[k] - ends[k - 1]);
    if (lengths.empty()) continue;
    steps.count = std::max<std::uint64_t>(steps.count, ends.size());
    steps.step_us = std::max(steps.step_us, lower_quantile(lengths, 0.5));
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
      tensor.name = names[key.second];
      if (key.first != 0) tensor.name += cat(" (set ", key.first, ")");
      tensor.bytes = std::max(tensor.bytes, list.back().bytes);
      const double median = std::max(lower_quantile(ready, 0.5), 0.0);
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
