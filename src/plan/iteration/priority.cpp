// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The tensors of early layers first, since the next forward pass needs them first. A tensor is cut
// into partitions; what is ready and most urgent is handed to the channel while the bytes handed
// over and not yet through stay within the credit, or when the channel has nothing. So an urgent
// tensor that is ready late waits for the credit at most, and overtakes all else.
//
// Tensors become ready in backward order, so the one that became ready last is always the most
// urgent: those that wait are a stack. What becomes ready at the moment in which the channel gets
// free is looked at first.
#include <algorithm>

#include "base/check.hpp"
#include "plan/iteration/profile.hpp"
#include "plan/iteration/rows.hpp"

namespace unisono::plan {
namespace {

struct Waiting {
  std::size_t tensor;
  std::int64_t sent;
};

class Urgency {
 public:
  Urgency(const IterationProblem& problem, const Profile& profile,
          const IterationSettings& settings)
      : problem_(problem), profile_(profile), settings_(settings) {}

  std::vector<TimedPart> run() {
    double now = 0;
    while (!stack_.empty() || next_ < profile_.count() || done_ < parts_.size()) {
      const bool comes = next_ < profile_.count();
      const bool runs = done_ < parts_.size();
      // All that may be handed over has been: the next thing to happen is one of these.
      const double ready = comes ? profile_.ready_s[next_] : 0;
      now = runs && (!comes || parts_[done_].end_s <= ready) ? parts_[done_].end_s : ready;
      while (next_ < profile_.count() && profile_.ready_s[next_] <= now) {
        stack_.push_back({next_++, 0});
      }
      while (done_ < parts_.size() && parts_[done_].end_s <= now) {
        in_flight_ -= parts_[done_++].bytes;
      }
      while (!stack_.empty() && may_hand()) hand_over(now);
    }
    return std::move(parts_);
  }

 private:
  std::int64_t part_bytes() const {
    const Waiting& top = stack_.back();
    return std::min(settings_.partition_bytes, problem_.tensors[top.tensor].bytes - top.sent);
  }
  bool may_hand() const {
    return done_ == parts_.size() || in_flight_ + part_bytes() <= settings_.credit_bytes;
  }
  void hand_over(double now) {
    Waiting& top = stack_.back();
    const std::int64_t bytes = part_bytes();
    const double start = parts_.empty() ? now : std::max(now, parts_.back().end_s);
    const double end = start + problem_.methods.front().transfer->seconds(bytes);
    parts_.push_back({top.tensor, top.sent, bytes, now, start, end});
    in_flight_ += bytes;
    top.sent += bytes;
    if (top.sent == problem_.tensors[top.tensor].bytes) stack_.pop_back();
  }

  const IterationProblem& problem_;
  const Profile& profile_;
  const IterationSettings& settings_;
  std::vector<Waiting> stack_;
  std::vector<TimedPart> parts_;        // handed over; the first done_ are through
  std::size_t next_ = 0, done_ = 0;
  std::int64_t in_flight_ = 0;
};

}  // namespace

Arrangement arrange_priority(const IterationProblem& problem, const IterationSettings& settings) {
  UNISONO_CHECK(settings.partition_bytes > 0);
  const Profile profile(problem);
  Arrangement made;
  made.parts = Urgency(problem, profile, settings).run();
  for (std::size_t i = 0; i < profile.count(); ++i) made.buckets.push_back({i, i + 1, 0, -1, 0});
  for (const TimedPart& part : made.parts) {
    TimedBucket& bucket = made.buckets[part.tensor];
    if (bucket.start_s < 0) bucket.start_s = part.start_s;
    bucket.end_s = part.end_s;
    made.finish_s = part.end_s;
  }
  double compute = profile.count() == 0 ? 0 : profile.ready_s.back();
  for (std::size_t i = profile.count(); i > 0; --i) {
    const double waited = std::max(0.0, made.buckets[i - 1].end_s - compute);
    made.waited_s += waited;
    compute = std::max(compute, made.buckets[i - 1].end_s) + problem.tensors[i - 1].forward_s;
  }
  made.forward_end_s = compute;
  return made;
}

}  // namespace unisono::plan
