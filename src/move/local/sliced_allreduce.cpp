// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Allreduce in one pass over shared memory. Member i owns slice i of the bucket.
//
// From the callers' memory it goes chunk by chunk, while each is still in a cache. Every member
// shows, in its window, chunk c of the slices it does not own. The owner reduces chunk c of its
// slice, its own part straight from the caller's tensor, into the unused slice of its window. Every
// member takes chunk c of all owners into the caller's tensor. What a taken chunk replaces is still
// in the member's own window, so each survivor puts its tensor back as it was when a member dies
// before all results are out. A member delivers its own slice last, once the whole result is in
// shared memory and needs nobody to complete it. A member that could not put its tensor back (the
// output is another place, or what it showed was scaled or translated) delivers everything then.
//
// Arena-resident on all members: there are no copies; the owner reduces its slice from every
// member's tensor and writes it to all of them. Resident on some: their tensors serve as windows to
// read from, while their slices of the result are in a real window, since others still take them
// when the tensor is the caller's again.
//
// Waits per chunk: 2. Bytes moved per member: 4.5·S from callers' memory with two members, of which
// 3.5·S to and from main memory; 2·S when resident, which is what reading every input and writing
// every output once costs.
#include <algorithm>

#include "move/local/machine.hpp"

namespace unisono::move {
namespace {

// These must be the same on every rank.
constexpr std::size_t kChunkBytes = 512 << 10;   // half of a usual second-level cache
constexpr std::size_t kBlockBytes = 8 << 10;     // resident: what is written out while still hot
constexpr std::size_t kTakeEarly = 4;            // fewer chunks are still in the cache at the end
constexpr std::size_t kShowAhead = 2;            // chunks shown before the first of them is reduced
constexpr int kStepsAtOnce = 4;                  // work done before the loop looks around again

class SlicedAllreduce final : public LocalMachine {
 public:
  SlicedAllreduce(const LocalTurn& turn, LocalReduction work)
      : LocalMachine(turn), work_(std::move(work)), resident_(is_resident()),
        slice_(slice_begin(work_.bytes, me(), n())),
        slice_end_(slice_begin(work_.bytes, me() + 1, n())) {
    std::size_t longest = 0;
    for (int j = 0; j < n(); ++j) {
      longest = std::max(longest, slice_begin(work_.bytes, j + 1, n()) -
                                      slice_begin(work_.bytes, j, n()));
    }
    chunks_ = std::max<std::size_t>(1, (longest + kChunkBytes - 1) / kChunkBytes);
    output_policy_ = choose_output_policy();
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
    if (!started_) return may_start() && (!shows_window() || team_.has_window(work_.bytes));
    if (!trouble_.ok()) return false;
    return aborted_ || may_take() || may_reduce() || may_show() || may_deliver();
  }
  bool committed() const override {
    return started_ && reduced_ == chunks_ && team_.all_out(at(chunks_));
  }
  bool joined() const override { return started_ && team_.all_in(at(1)); }

  void undo() override {
    if (resident_ && started_) withdraw();
    if (output_policy_ != OutputPolicy::keep_old) return;
    for (std::size_t c = 0; c < taken_; ++c) {
      for (int d = 1; d < n(); ++d) {
        const auto [begin, end] = chunk((me() + d) % n(), c);
        scatter_range(work_, begin, end, window_ + begin);
      }
    }
  }

 private:
  // What becomes of the caller's bytes that a result replaces.
  enum class OutputPolicy : std::uint8_t {
    overwrite,                              // nobody will ask for them
    keep_old,                               // they stand in the window until the end
    wait,                                   // they are left alone until all results are out
  };

  std::string_view what() const override {
    return all_resident_ ? "resident allreduce" : "sliced allreduce";
  }

  // The caller's tensor is one piece of the arena, in place, with nothing to scale on the way in.
  bool is_resident() const {
    return work_.items.size() == 1 && plain(work_) &&
           work_.items[0].source == work_.items[0].target && work_.items[0].source != nullptr &&
           team_.own().holds(work_.items[0].source, work_.bytes);
  }
  bool shows_window() const { return !resident_ && work_.vote != PlanVote::abort; }
  OutputPolicy choose_output_policy() const {
    if (resident_) return OutputPolicy::overwrite;
    if (chunks_ <= kTakeEarly) return OutputPolicy::wait;
    const auto all = [&](auto test) {
      return std::all_of(work_.items.begin(), work_.items.end(), test);
    };
    if (all([](const LocalItem& i) { return i.fresh || i.target == nullptr; }))
      return OutputPolicy::overwrite;
    const bool in_place = all([](const LocalItem& i) { return i.source == i.target; });
    return in_place && plain(work_) ? OutputPolicy::keep_old : OutputPolicy::wait;
  }

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
    } else if (!may_deliver()) {
      return Step::waiting;
    } else if (delivered_ < work_.bytes && !all_resident_) {
      deliver();
    } else {
      return finish();
    }
    return Step::advanced;
  }

  bool start() {
    if (!may_start()) return false;
    std::size_t shown_at = 0;
    if (shows_window()) {
      if (!take_window(work_.bytes)) return false;
      shown_at = window_offset_;
      show_result(window_offset_ + slice_);
    } else {
      if (resident_) shown_at = team_.own().offset_of(work_.items[0].source);
      shown_ = chunks_;
    }
    window_ = team_.own().at(shown_at);
    my_line().window.store(shown_at, std::memory_order_relaxed);
    show_terms(resident_, work_.vote);
    if (shown_ > 0) publish_in(shown_);
    started_ = true;
    return true;
  }

  bool take_window(std::size_t bytes) {
    auto window = team_.take_window(bytes);
    if (!window) trouble_ = window.status();
    if (!window || !window.value()) return false;
    window_offset_ = **window;
    has_window_ = true;
    return true;
  }
  void show_result(std::size_t offset) {
    result_ = team_.own().at(offset);
    my_line().result.store(offset, std::memory_order_relaxed);
  }

  bool may_show() const { return shown_ < chunks_ && shown_ < reduced_ + kShowAhead; }
  bool may_reduce() const {
    if (reduced_ == shown_ || !team_.all_in(at(reduced_ + 1))) return false;
    return !some_resident_ || (!spoilt_ && (!lacks_result() || team_.has_window(slice_bytes())));
  }
  // Some members' tensors are not in the arena, so this one's part of the result needs a place.
  bool lacks_result() const { return met_ && !all_resident_ && result_ == nullptr; }
  std::size_t slice_bytes() const { return std::max<std::size_t>(slice_end_ - slice_, 1); }
  bool may_take() const {
    return output_policy_ != OutputPolicy::wait && taken_ < reduced_ &&
           team_.all_out(at(taken_ + 1));
  }
  bool may_deliver() const { return reduced_ == chunks_ && team_.all_out(at(chunks_)); }

  // Chunk c of member j's slice.
  std::pair<std::size_t, std::size_t> chunk(int j, std::size_t c) const {
    const std::size_t begin = slice_begin(work_.bytes, j, n());
    const std::size_t end = slice_begin(work_.bytes, j + 1, n());
    return {std::min(end, begin + c * kChunkBytes), std::min(end, begin + (c + 1) * kChunkBytes)};
  }
  void show_chunk() {
    for (int d = 1; d < n(); ++d) {
      const auto [begin, end] = chunk((me() + d) % n(), shown_);
      share(begin, end, [this](std::size_t from, std::size_t to) {
        gather_range(work_, from, to, window_ + from);
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
    if (lacks_result()) {
      if (!take_window(slice_bytes())) return;
      show_result(window_offset_);
    }
    const auto [begin, end] = chunk(me(), reduced_);
    share(begin, end, [this](std::size_t from, std::size_t to) { reduce_slice(from, to); });
    spoilt_ = some_resident_ && somebody_withdrew();
    if (!spoilt_) publish_out(++reduced_);
  }

  void reduce_slice(std::size_t begin, std::size_t end) {
    const std::size_t element = size_of(work_.dtype);
    for_range(work_.items, begin, end,
              [&](const LocalItem& item, std::size_t from, std::size_t bytes, std::size_t place) {
                const bool direct = item.source != nullptr && plain(work_);
                std::byte* out = result_ + (place - slice_);
                if (!direct) gather_range(work_, place, place + bytes, out);
                const void* inputs[arena::kMembersMax];
                for (int member = 0; member < n(); ++member) {
                  inputs[member] = member != me() ? window_of(member, work_.bytes) + place
                                   : direct       ? item.source + from
                                                  : out;
                }
                kernels::reduce_many(work_.dtype, work_.op, out,
                                     {inputs, static_cast<std::size_t>(n())}, bytes / element);
              });
    std::byte* out = result_ + (begin - slice_);
    if (needs_finish(work_)) finish_range(work_, out, out, end - begin);
  }

  void reduce_resident() {
    const std::size_t begin = slice_ + resident_done_;
    const std::size_t end = std::min(slice_end_, begin + kChunkBytes);
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
      const std::size_t first = slice_begin(work_.bytes, owner, n());
      const std::byte* result = result_of(owner);
      share(begin, end, [&](std::size_t from, std::size_t to) {
        scatter_range(work_, from, to, result + (from - first));
      });
    }
    ++taken_;
  }
  // Where a member's slice of the result begins.
  const std::byte* result_of(int owner) const {
    return team_.result_of(
        owner, operation_,
        slice_begin(work_.bytes, owner + 1, n()) - slice_begin(work_.bytes, owner, n()));
  }

  // Delivers the next piece that has not been taken; the own slice first, as it is still cached.
  void deliver() {
    const std::size_t place = (slice_ + delivered_) % work_.bytes;
    int owner = 0;
    while (slice_begin(work_.bytes, owner + 1, n()) <= place) ++owner;
    const std::size_t first = slice_begin(work_.bytes, owner, n());
    const std::size_t slice_end = slice_begin(work_.bytes, owner + 1, n());
    const bool there = owner != me() && output_policy_ != OutputPolicy::wait;
    const std::size_t end = there ? slice_end : std::min(slice_end, place + kChunkBytes);
    if (!there) {
      const std::byte* result = result_of(owner);
      share(place, end, [&](std::size_t from, std::size_t to) {
        scatter_range(work_, from, to, result + (from - first));
      });
    }
    delivered_ += end - place;
  }

  Step finish() {
    publish_done();
    if (has_window_) team_.retire_window(window_offset_, operation_);
    return Step::finished;
  }

  LocalReduction work_;
  const bool resident_;
  const std::size_t slice_, slice_end_;     // this member's, in bytes
  OutputPolicy output_policy_ = OutputPolicy::wait;
  bool started_ = false, has_window_ = false;
  bool aborted_ = false;                       // known once met
  bool spoilt_ = false;  // a resident contribution may have changed: never finishes
  std::size_t chunks_ = 1, shown_ = 0, reduced_ = 0, taken_ = 0;
  std::size_t resident_done_ = 0, delivered_ = 0;  // bytes
  std::size_t window_offset_ = 0;
  std::byte* window_ = nullptr;             // what others read of this member
  std::byte* result_ = nullptr;             // its slice of the result
};

}  // namespace

std::unique_ptr<LocalCollective> make_sliced_allreduce(LocalTurn turn, LocalReduction work) {
  return std::make_unique<SlicedAllreduce>(turn, std::move(work));
}

std::unique_ptr<LocalCollective> make_local_allreduce(LocalTurn turn, LocalReduction work) {
  if (work.bytes <= arena::kTinyBytes) return make_tiny_allreduce(turn, std::move(work));
  return make_sliced_allreduce(turn, std::move(work));
}

}  // namespace unisono::move
