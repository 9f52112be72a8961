// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which algorithms are worth a trial, and how far predictions were off so far. Pure; thread: any.
#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace unisono::cost {

inline constexpr std::size_t kCandidatesMax = 3;
inline constexpr double kWorthATrial = 2.0;  // times the best prediction

struct Candidate {
  std::string_view algorithm;
  double predicted_s = 0;
};

// The best predictions first. What is usually run stays among them, so that a trial never ends with
// something slower for want of having tried it.
std::vector<Candidate> shortlist(std::vector<Candidate> candidates, std::string_view usual);

// Predictions refined by what was measured, piecewise by size: a prediction counts as wrong by the
// factor that the same algorithm was wrong by at the nearest size that was tried; one that was not
// tried near, by the mean of those that were, or else it would look better than all that were.
class Corrections {
 public:
  void note(std::string_view algorithm, int size_class, double predicted_s, double measured_s);
  double corrected(std::string_view algorithm, int size_class, double predicted_s) const;

 private:
  std::map<std::pair<int, std::string_view>, double> factors_;  // by size class and algorithm
};

}  // namespace unisono::cost
