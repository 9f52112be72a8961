// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How long iterations last on this member: from one submission of a tensor to its next. One tensor
// stands for all, since thousands of members of a simulation keep this.
// Thread: the owner's.
#pragma once

#include <algorithm>
#include <string>

#include "base/clock.hpp"
#include "model/request.hpp"

namespace unisono::order {

class IterationBeat {
 public:
  void submitted(const Request& request, Time now) {
    if (!traits_of(request.kind).carries_data) return;
    if (name_.empty()) {
      name_ = request.name;
    } else if (name_ != request.name) {
      return;
    } else {
      shortest_ = shortest_ == Nanos{0} ? now - at_ : std::min(shortest_, now - at_);
    }
    at_ = now;
  }
  // What came before is no iteration of what comes now; it counts until one of these is known.
  void restart() {
    name_.clear();
    if (shortest_ > Nanos{0}) before_ = shortest_;
    shortest_ = Nanos{0};
  }
  // 0 when it is not known. A pause is no iteration, so the shortest counts.
  Nanos shortest() const { return shortest_ > Nanos{0} ? shortest_ : before_; }

 private:
  std::string name_;
  Time at_;
  Nanos shortest_{0}, before_{0};
};

}  // namespace unisono::order
