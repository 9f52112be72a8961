// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// reducescatter, direct: every member sends part j to member j, which reduces all contributions in
// member order.
// Steps: 1. Bytes sent per member: all parts but its own. Wins with few members or little data.
#include <deque>

#include "base/data/text.hpp"
#include "move/algorithms.hpp"
#include "move/message/owner_reduction.hpp"
#include "move/message/patterns.hpp"

namespace unisono::move {

namespace {

class DirectReduceScatter final : public Machine {
 public:
  DirectReduceScatter(MoveContext context, DType dtype, ReduceOp op,
                      std::span<const std::byte> data, const std::vector<std::size_t>& starts,
                      std::span<std::byte> out)
      : Machine("reducescatter/direct", context),
        own_(context_, dtype, op, cut_own(part(data, starts, context.me()), out)) {
    for (int d = 1; d < context.n(); ++d) {
      const int member = patterns::wrap(context.me() + d, context.n());
      contributions_.emplace_back(context_, member, Phase::scatter)
          .send_from(part(data, starts, member));
    }
  }

 private:
  static std::span<const std::byte> part(std::span<const std::byte> data,
                                         const std::vector<std::size_t>& starts, int member) {
    const auto j = static_cast<std::size_t>(member);
    return data.subspan(starts[j], starts[j + 1] - starts[j]);
  }

  std::span<const Segment> cut_own(std::span<const std::byte> mine, std::span<std::byte> out) {
    cut_region({.in = mine, .out = out}, 0, mine.size(), kSegmentBytes, cut_);
    return cut_;
  }

  bool advance() override {
    own_.advance(pass_);
    bool done = own_.finished();
    for (auto& contribution : contributions_) {
      contribution.advance(pass_);
      done = done && contribution.finished();
    }
    return done;
  }
  void add_pending(OpenTransfer& pending) const override {
    own_.add_pending(pending);
    for (const auto& contribution : contributions_) contribution.add_pending(pending);
  }
  std::string phase() const override { return own_.phase(); }

  std::vector<Segment> cut_;
  OwnerReduction own_;
  std::deque<SegmentStream> contributions_;
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_reducescatter_direct(MoveContext context, DType dtype,
                                                             ReduceOp op,
                                                             std::span<const std::byte> data,
                                                             const Extents& counts,
                                                             std::span<std::byte> out) {
  std::vector<std::size_t> starts{0};
  for (const std::size_t count : counts) starts.push_back(starts.back() + count);
  return std::make_unique<DirectReduceScatter>(context, dtype, op, data, starts, out);
}

}  // namespace unisono::move
