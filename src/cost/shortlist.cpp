// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "cost/shortlist.hpp"

#include <algorithm>
#include <cstdlib>

namespace unisono::cost {
namespace {
// A factor of 8 in size: beyond that, what was measured says little.
constexpr int kFarthest = 3;
}  // namespace

std::vector<Candidate> shortlist(std::vector<Candidate> candidates, std::string_view usual) {
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.predicted_s < b.predicted_s;
  });
  const auto is_usual = [&](const Candidate& each) { return each.algorithm == usual; };
  const auto kept = std::find_if(candidates.begin(), candidates.end(), is_usual);
  const bool has_usual = kept != candidates.end();
  const Candidate fallback = has_usual ? *kept : Candidate{};
  std::size_t count = 0;
  while (count < candidates.size() && count < kCandidatesMax &&
         candidates[count].predicted_s <= kWorthATrial * candidates.front().predicted_s) {
    ++count;
  }
  candidates.resize(count);
  if (has_usual && std::none_of(candidates.begin(), candidates.end(), is_usual)) {
    if (candidates.size() == kCandidatesMax) candidates.pop_back();
    candidates.push_back(fallback);
  }
  return candidates;
}

void Corrections::note(std::string_view algorithm, int size_class, double predicted_s,
                       double measured_s) {
  if (predicted_s > 0) factors_[{size_class, algorithm}] = measured_s / predicted_s;
}

double Corrections::corrected(std::string_view algorithm, int size_class,
                              double predicted_s) const {
  int own_apart = kFarthest + 1, nearest = kFarthest + 1;
  double own = 1, sum = 0;
  int count = 0;                            // of the factors in the sum: those of the nearest class
  for (const auto& [key, factor] : factors_) {
    const int apart = std::abs(key.first - size_class);
    if (key.second == algorithm && apart < own_apart) {
      own_apart = apart;
      own = factor;
    }
    if (apart < nearest) {
      nearest = apart;
      sum = 0;
      count = 0;
    }
    if (apart == nearest && apart <= kFarthest) {
      sum += factor;
      ++count;
    }
  }
  if (own_apart <= kFarthest) return predicted_s * own;
  return count > 0 ? predicted_s * (sum / count) : predicted_s;
}

}  // namespace unisono::cost
