// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Allreduce of up to kTinyBytes: everyone shows its whole contribution, waits for one counter of
// each member, and reduces everything itself in member order.
// Steps: 1 wait. Bytes: every member reads (n-1) contributions. Wins while only latency counts; up
// to 96 bytes travel in the cache line of the counter itself.
#include "move/local/machine.hpp"

namespace unisono::move {
namespace {

class TinyAllreduce final : public LocalMachine {
 public:
  TinyAllreduce(const LocalTurn& turn, LocalReduction work)
      : LocalMachine(turn), work_(std::move(work)) {}

  Step step() override {
    if (!shown_) {
      if (!may_start()) return Step::waiting;
      gather_range(work_, 0, work_.bytes, place_of(me()));
      show_terms(false, work_.vote);
      publish_in(1);
      shown_ = true;
    }
    if (!team_.all_in(at(1)) || !meet()) return Step::waiting;
    if (vote_ != PlanVote::abort) reduce();
    publish_done();
    return Step::finished;
  }
  bool ready() const override {
    return shown_ ? trouble_.ok() && team_.all_in(at(1)) : may_start();
  }
  bool committed() const override { return joined() && may_meet(); }
  bool joined() const override { return shown_ && team_.all_in(at(1)); }

 private:
  std::string_view what() const override { return "tiny allreduce"; }

  std::byte* place_of(int member) const {
    return work_.bytes <= arena::kInlineBytes ? line_of(member).message
                                       : team_.board(member).tiny[parity()];
  }
  // Writes straight into the caller's tensors: all contributions are in shared memory by now, so
  // this needs nobody else to finish.
  void reduce() {
    const std::size_t element = size_of(work_.dtype);
    const bool finish = needs_finish(work_);
    for (const LocalItem& item : work_.items) {
      if (item.target == nullptr || item.bytes == 0) continue;
      if (work_.translation) {
        reduce_translated(item);
        continue;
      }
      reduce_range(item.offset, item.bytes, element, item.target);
      if (finish) finish_range(work_, item.target, item.target, item.bytes);
    }
  }
  void reduce_translated(const LocalItem& item) {
    constexpr std::size_t kBlockBytes = 4 << 10;
    alignas(64) std::byte block[kBlockBytes];
    for (std::size_t from = 0; from < item.bytes; from += kBlockBytes) {
      const std::size_t bytes = std::min(kBlockBytes, item.bytes - from);
      reduce_range(item.offset + from, bytes, size_of(work_.dtype), block);
      work_.translation.store(item, from, bytes, block);
    }
  }
  void reduce_range(std::size_t place, std::size_t bytes, std::size_t element, std::byte* out) {
    const void* inputs[arena::kMembersMax];
    for (int member = 0; member < n(); ++member) inputs[member] = place_of(member) + place;
    kernels::reduce_many(work_.dtype, work_.op, out, {inputs, static_cast<std::size_t>(n())},
                         bytes / element);
  }

  LocalReduction work_;
  bool shown_ = false;
};

}  // namespace

std::unique_ptr<LocalCollective> make_tiny_allreduce(LocalTurn turn, LocalReduction work) {
  return std::make_unique<TinyAllreduce>(turn, std::move(work));
}

}  // namespace unisono::move
