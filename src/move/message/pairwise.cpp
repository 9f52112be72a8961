// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// allgather (direct) and alltoall: every member sends to every other, starting with the next one
// so that no receiver is everybody's first.
// Steps: 1. Bytes sent per member: what the others want of it. direct allgather wins with few
// members; alltoall has no shorter way but for small parts of many members, which travel together
// between hosts (hosts/hosts_alltoall.cpp).
#include <cstring>
#include <deque>

#include "base/data/text.hpp"
#include "move/algorithms.hpp"
#include "move/message/patterns.hpp"
#include "move/message/segment_stream.hpp"

namespace unisono::move {

namespace {

std::vector<std::size_t> starts_of(const Extents& counts) {
  std::vector<std::size_t> starts{0};
  for (const std::size_t count : counts) starts.push_back(starts.back() + count);
  return starts;
}

class PairwiseMachine final : public Machine {
 public:
  PairwiseMachine(std::string name, MoveContext context) : Machine(std::move(name), context) {}

  void send(int member, std::span<const std::byte> bytes) {
    sends_.emplace_back(context_, member, Phase::scatter).send_from(bytes);
  }
  void receive(int member, std::span<std::byte> bytes) {
    receives_.emplace_back(context_, member, Phase::scatter).receive_into(bytes);
  }

 private:
  bool advance() override {
    bool done = true;
    for (auto* streams : {&receives_, &sends_}) {
      for (auto& stream : *streams) {
        stream.advance(pass_);
        done = done && stream.finished();
      }
    }
    return done;
  }
  void add_pending(OpenTransfer& pending) const override {
    for (const auto* streams : {&receives_, &sends_}) {
      for (const auto& stream : *streams) stream.add_pending(pending);
    }
  }
  std::string phase() const override {
    std::size_t finished = 0;
    for (const auto& stream : receives_) finished += stream.finished() ? 1 : 0;
    return cat(finished, " of ", receives_.size(), " parts received");
  }

  std::deque<SegmentStream> sends_, receives_;
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_allgather_direct(MoveContext context,
                                                         std::span<const std::byte> mine,
                                                         const Extents& counts,
                                                         std::span<std::byte> out) {
  auto machine = std::make_unique<PairwiseMachine>("allgather/direct", context);
  const auto starts = starts_of(counts);
  for (int d = 1; d < context.n(); ++d) {
    const auto from = static_cast<std::size_t>(patterns::wrap(context.me() - d, context.n()));
    machine->send(patterns::wrap(context.me() + d, context.n()), mine);
    machine->receive(static_cast<int>(from), out.subspan(starts[from], counts[from]));
  }
  return machine;
}

std::unique_ptr<CollectiveMachine> make_alltoall_pairwise(MoveContext context,
                                                          const AlltoallWork& work) {
  const auto& [in, send_counts, out, receive_counts, all] = work;
  const auto me = static_cast<std::size_t>(context.me());
  const auto send_starts = starts_of(send_counts), receive_starts = starts_of(receive_counts);
  if (send_counts[me] != 0) {
    std::memcpy(out.data() + receive_starts[me], in.data() + send_starts[me], send_counts[me]);
  }
  auto machine = std::make_unique<PairwiseMachine>("alltoall/pairwise", context);
  for (int d = 1; d < context.n(); ++d) {
    const auto to = static_cast<std::size_t>(patterns::wrap(context.me() + d, context.n()));
    const auto from = static_cast<std::size_t>(patterns::wrap(context.me() - d, context.n()));
    machine->send(static_cast<int>(to), in.subspan(send_starts[to], send_counts[to]));
    machine->receive(static_cast<int>(from),
                     out.subspan(receive_starts[from], receive_counts[from]));
  }
  return machine;
}

}  // namespace unisono::move
