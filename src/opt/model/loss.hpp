// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Losses of a sample as functions of its margin: label · (weights · sample). Pure.
#pragma once

#include <cmath>
#include <string_view>

namespace unisono::opt {

enum class Loss { logistic, hinge };
inline std::string_view name_of(Loss loss) { return loss == Loss::logistic ? "logistic" : "hinge"; }

inline double loss_value(Loss loss, double margin) {
  if (loss == Loss::hinge) return margin < 1 ? 1 - margin : 0;
  // exp() of something negative only.
  return margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin;
}

inline double loss_slope(Loss loss, double margin) {
  if (loss == Loss::hinge) return margin < 1 ? -1 : 0;
  return margin > 0 ? -std::exp(-margin) / (1 + std::exp(-margin)) : -1 / (1 + std::exp(margin));
}

// Coordinate descent needs a second derivative and no kinks, at which it would get stuck: there the
// hinge is a parabola within kSmoothed below 1.
inline constexpr double kSmoothed = 0.5;
inline double smooth_slope(Loss loss, double margin) {
  if (loss == Loss::logistic) return loss_slope(loss, margin);
  if (margin >= 1) return 0;
  return margin <= 1 - kSmoothed ? -1 : (margin - 1) / kSmoothed;
}
inline double curvature_max(Loss loss) { return loss == Loss::logistic ? 0.25 : 1 / kSmoothed; }

}  // namespace unisono::opt
