// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Allreduce in one pass over shared memory. Member i owns slice i of the bucket.
//
// From the callers' memory it goes chunk by chunk, through a window of a few slots that stays in
// the cache. Every member shows, in slot c modulo the slots, chunk c of the slices it does not own.
// The owner reduces chunk c of its slice, its own part straight from the caller's tensor, into the
// part of the slot that is its own, and from there, while it is hot, into the caller's tensor. Every
// member takes chunk c of the other owners into the caller's tensor and says so: a slot is used
// again once everybody has taken what was in it. How many slots a member has is its own affair, so
// that one with little shared memory gets by with fewer. What is left in a tensor when a member
// dies on the way is undefined; whoever wants it back gives another place as target.
//
// Arena-resident on all members: there are no copies; the owner reduces its slice from every
// member's tensor and writes it to all of them. Resident on some: their tensors serve as windows to
// read from, while their slices of the result go through slots as everybody's do.
//
// Waits per chunk: 2. Bytes moved per member, to and from main memory: 2·S, which is what reading
// every input and writing every output once costs; beside it, from callers' memory, 2·S in the
// cache.
#include <algorithm>

#include "move/local/machine.hpp"

namespace unisono::move {
namespace {

// These must be the same on every rank.
constexpr std::size_t kBlockBytes = 8 << 10;     // what is written out while still hot
constexpr std::size_t kResidentBytes = 512 << 10;  // reduced before the loop looks around again
constexpr int kStepsAtOnce = 4;                  // work done before the loop looks around again

// How much of a slice passes at once. Slots of all members together should stay in a cache.
std::size_t chunk_bytes(int members) {
  constexpr std::size_t kMost = 128 << 10, kLeast = 16 << 10, kSlot = 1 << 20;
  return std::clamp(kSlot / static_cast<std::size_t>(members) / 128 * 128, kLeast, kMost);
}

class SlicedAllreduce final : public LocalMachine {
 public:
  SlicedAllreduce(const LocalTurn& turn, LocalReduction work)
      : LocalMachine(turn), work_(std::move(work)), resident_(is_resident(team_, work_)),
        slice_(slice_begin(work_.bytes, me(), n())),
        slice_end_(slice_begin(work_.bytes, me() + 1, n())), chunk_bytes_(chunk_bytes(n())) {
    std::size_t longest = 0;
    for (int j = 0; j < n(); ++j) {
      longest = std::max(longest, slice_begin(work_.bytes, j + 1, n()) -
                                      slice_begin(work_.bytes, j, n()));
    }
    chunks_ = std::max<std::size_t>(1, (longest + chunk_bytes_ - 1) / chunk_bytes_);
  }

  Step step() override {
    for (int done = 0; done < kStepsAtOnce; ++done) {
      const Step step = step_once();
      if (step == Step::finished) return step;
      if (step == Step::waiting) return done > 0 ? Step::advanced : Step::waiting;
    }
    return Step::advanced;
  }

  bool ready() const override {
    if (!trouble_.ok()) return false;
    if (!started_) return may_start() && (!shows_slots() || may_take_slots());
    return aborted_ || may_take() || may_reduce() || may_show() || may_finish();
  }
  bool committed() const override { return started_ && all_results_out(); }
  bool joined() const override { return started_ && team_.all_in(at(1)); }
  bool keeps_outputs() const override { return !wrote_; }

  void undo() override {
    if (resident_ && started_) withdraw();
  }

 private:
  std::string_view what() const override {
    return all_resident_ ? "resident allreduce" : "sliced allreduce";
  }
  bool shows_slots() const { return !resident_ && work_.vote != PlanVote::abort; }

  Step step_once() {
    if (!started_ && !start()) return Step::waiting;
    if (!trouble_.ok()) return Step::waiting;
    if (aborted_) return finish();
    if (may_take()) {
      take_chunk();
    } else if (may_reduce()) {
      reduce_chunk();
    } else if (may_show()) {
      show_chunk();
    } else {
      return may_finish() ? finish() : Step::waiting;
    }
    return Step::advanced;
  }

  bool start() {
    if (!may_start()) return false;
    if (shows_slots()) {
      if (!take_slots()) return false;
      my_line().window.store(window_offset_, std::memory_order_relaxed);
    } else {
      if (resident_) {
        const std::size_t shown_at = team_.own().offset_of(work_.items[0].source);
        my_line().window.store(shown_at, std::memory_order_relaxed);
      }
      shown_ = chunks_;
    }
    show_terms(resident_, work_.vote);
    if (shown_ > 0) publish_in(shown_);
    started_ = true;
    return true;
  }

  std::size_t slot_bytes() const { return chunk_bytes_ * static_cast<std::size_t>(n()); }
  bool may_take_slots() const { return team_.has_window(team_.slots() * slot_bytes()); }
  // Takes a window of slots, of fewer where shared memory is short. Returns false when one will be
  // free soon, or with trouble().
  bool take_slots() {
    while (true) {
      auto window = team_.take_window(team_.slots() * slot_bytes());
      if (window && !window.value()) return false;
      if (window) {
        window_offset_ = **window;
        break;
      }
      if (team_.slots() == 1) {
        trouble_ = window.status();
        return false;
      }
      team_.halve_slots();
    }
    slots_ = team_.slots();
    my_line().result.store(window_offset_ | slots_, std::memory_order_relaxed);
    return true;
  }

  bool may_show() const { return shown_ < chunks_ && shown_ < taken_ + slots_; }
  bool may_reduce() const {
    if (reduced_ == shown_ || spoilt_ || !team_.all_in(at(reduced_ + 1))) return false;
    if (lacks_slots()) return may_take_slots();
    return reduced_ < slots_ || slots_ == 0 || team_.all_taken(at(reduced_ - slots_ + 1));
  }
  // Some members' tensors are not in the arena, so this one's part of the result needs a place.
  bool lacks_slots() const { return met_ && !all_resident_ && !aborted_ && slots_ == 0; }
  bool may_take() const {
    return !all_resident_ && taken_ < reduced_ && team_.all_out(at(taken_ + 1));
  }
  // Asks what is taken, not only what could be: others may have come since may_take() was asked.
  bool may_finish() const { return taken_ == chunks_ && all_results_out(); }
  bool all_results_out() const { return reduced_ == chunks_ && team_.all_out(at(chunks_)); }

  // Chunk c of member j's slice.
  std::pair<std::size_t, std::size_t> chunk(int j, std::size_t c) const {
    const std::size_t begin = slice_begin(work_.bytes, j, n());
    const std::size_t end = slice_begin(work_.bytes, j + 1, n());
    return {std::min(end, begin + c * chunk_bytes_),
            std::min(end, begin + (c + 1) * chunk_bytes_)};
  }
  // Where chunk c of slice j stands in the slots of a member: what it has shown, or, of its own
  // slice, reduced.
  std::byte* slot_of(int member, int j, std::size_t c) const {
    const auto [window, slots] = team_.slots_of(member, operation_, slot_bytes());
    return window + c % slots * slot_bytes() + static_cast<std::size_t>(j) * chunk_bytes_;
  }

  void show_chunk() {
    for (int d = 1; d < n(); ++d) {
      const int owner = (me() + d) % n();
      const auto [begin, end] = chunk(owner, shown_);
      std::byte* slot = slot_of(me(), owner, shown_);
      share(begin, end, [&, first = begin](std::size_t from, std::size_t to) {
        gather_range(work_, from, to, slot + (from - first));
      });
    }
    publish_in(++shown_);
  }

  void reduce_chunk() {
    if (!met_) {
      if (!meet()) return;
      aborted_ = vote_ == PlanVote::abort;
    }
    if (aborted_) return;
    if (all_resident_) return reduce_resident();
    if (lacks_slots() && !take_slots()) return;
    wrote_ = true;
    const auto [begin, end] = chunk(me(), reduced_);
    const std::byte* inputs[arena::kMembersMax];
    for (int member = 0; member < n(); ++member) {
      inputs[member] = shows_tensor(member) ? window_of(member, work_.bytes) + begin
                       : member != me()    ? slot_of(member, me(), reduced_)
                                           : nullptr;
    }
    std::byte* slot = slot_of(me(), me(), reduced_);
    share(begin, end, [&, first = begin](std::size_t from, std::size_t to) {
      for (std::size_t at = from; at < to; at += kBlockBytes) {
        reduce_block(at, std::min(kBlockBytes, to - at), at - first, inputs, slot);
      }
    });
    spoilt_ = some_resident_ && somebody_withdrew();
    if (!spoilt_) publish_out(++reduced_);
  }

  // Reduces a block of the own slice into the slot, and from there into the caller's tensors.
  void reduce_block(std::size_t begin, std::size_t bytes, std::size_t in_chunk,
                    const std::byte* const* inputs, std::byte* slot) {
    const std::size_t element = size_of(work_.dtype);
    const auto part = [&](const LocalItem& item, std::size_t from, std::size_t length,
                          std::size_t place) {
      const std::size_t offset = in_chunk + (place - begin);
      std::byte* out = slot + offset;
      const bool direct = item.source != nullptr && plain(work_);
      if (!direct) gather_range(work_, place, place + length, out);
      const void* sources[arena::kMembersMax];
      for (int member = 0; member < n(); ++member) {
        sources[member] = member != me() ? inputs[member] + offset
                          : direct       ? item.source + from
                                         : out;
      }
      kernels::reduce_many(work_.dtype, work_.op, out,
                           {sources, static_cast<std::size_t>(n())}, length / element);
    };
    for_range(work_.items, begin, begin + bytes, part);
    std::byte* out = slot + in_chunk;
    if (needs_finish(work_)) finish_range(work_, out, out, bytes);
    scatter_range(work_, begin, begin + bytes, out);
  }

  void reduce_resident() {
    wrote_ = true;
    const std::size_t begin = slice_ + resident_done_;
    const std::size_t end = std::min(slice_end_, begin + kResidentBytes);
    share(begin, end, [this](std::size_t from, std::size_t to) { reduce_everywhere(from, to); });
    resident_done_ += end - begin;
    spoilt_ = somebody_withdrew();
    if (spoilt_ || end < slice_end_) return;
    reduced_ = taken_ = chunks_;
    publish_out(chunks_);
  }

  void reduce_everywhere(std::size_t begin, std::size_t end) {
    const std::size_t element = size_of(work_.dtype);
    const bool finish = needs_finish(work_);
    std::byte* windows[arena::kMembersMax];
    const void* inputs[arena::kMembersMax];
    for (int member = 0; member < n(); ++member)
      windows[member] = window_of(member, work_.bytes);
    for (std::size_t at = begin; at < end; at += kBlockBytes) {
      const std::size_t bytes = std::min(kBlockBytes, end - at);
      for (int member = 0; member < n(); ++member) inputs[member] = windows[member] + at;
      kernels::reduce_many(work_.dtype, work_.op, windows[me()] + at,
                           {inputs, static_cast<std::size_t>(n())}, bytes / element);
      if (finish) finish_range(work_, windows[me()] + at, windows[me()] + at, bytes);
      for (int d = 1; d < n(); ++d) {
        std::memcpy(windows[(me() + d) % n()] + at, windows[me()] + at, bytes);
      }
    }
  }

  void take_chunk() {
    for (int d = 1; d < n(); ++d) {
      const int owner = (me() + d) % n();
      const auto [begin, end] = chunk(owner, taken_);
      const std::byte* slot = slot_of(owner, owner, taken_);
      share(begin, end, [&, first = begin](std::size_t from, std::size_t to) {
        scatter_range(work_, from, to, slot + (from - first));
      });
    }
    // Nobody waits for the last to be taken but the next operations, which ask whether it is done.
    if (++taken_ < chunks_) publish_taken(taken_);
  }

  Step finish() {
    publish_done();
    if (slots_ > 0) team_.retire_window(window_offset_, operation_);
    return Step::finished;
  }

  LocalReduction work_;
  const bool resident_;
  const std::size_t slice_, slice_end_;     // this member's, in bytes
  const std::size_t chunk_bytes_;
  bool started_ = false;
  bool aborted_ = false;                       // known once met
  bool wrote_ = false;                      // to the callers' memory
  bool spoilt_ = false;  // a resident contribution may have changed: never finishes
  std::size_t chunks_ = 1, shown_ = 0, reduced_ = 0, taken_ = 0;
  std::size_t resident_done_ = 0;           // bytes
  std::size_t slots_ = 0, window_offset_ = 0;  // none until they are taken
};

}  // namespace

bool is_resident(const LocalTeam& team, const LocalReduction& work) {
  return work.items.size() == 1 && plain(work) &&
         work.items[0].source == work.items[0].target && work.items[0].source != nullptr &&
         team.own().holds(work.items[0].source, work.bytes);
}

std::size_t local_allreduce_window(int members, std::size_t bytes) {
  return is_tiny(bytes) ? 0 : chunk_bytes(members) * static_cast<std::size_t>(members);
}

std::unique_ptr<LocalCollective> make_sliced_allreduce(LocalTurn turn, LocalReduction work) {
  return std::make_unique<SlicedAllreduce>(turn, std::move(work));
}

std::unique_ptr<LocalCollective> make_local_allreduce(LocalTurn turn, LocalReduction work) {
  if (is_tiny(work.bytes)) return make_tiny_allreduce(turn, std::move(work));
  return make_sliced_allreduce(turn, std::move(work));
}

}  // namespace unisono::move
