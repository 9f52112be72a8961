// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Allreduce in one pass over shared memory. Member i owns slice i of the bucket.
//
// From the callers' memory: everyone copies the slices it does not own into its window, chunk by
// chunk; as soon as chunk c of everyone is there, the owner reduces chunk c of its slice (its own
// part straight from the caller's tensor) into the unused slice of its window. When all owners are
// done, everyone copies the result out. The callers' tensors are written only in that last phase,
// when the whole result stands in shared memory and needs nobody to complete it.
//
// Arena-resident on all members: no copies; the owner reduces its slice from every member's tensor
// and writes it to all of them.
//
// Waits: 2. Bytes through memory per member: 4.5·S from callers' memory with two members, 2·S when
// resident, which is what reading every input and writing every output once costs.
#include <algorithm>

#include "base/check.hpp"
#include "move/local/machine.hpp"

namespace unisono {
namespace {

constexpr std::size_t kChunkBytes = 512 << 10;   // half of a usual second-level cache; the same on all ranks
constexpr std::size_t kBlockBytes = 8 << 10;     // resident: what is written out while still hot
constexpr std::size_t kStepBytes = 1 << 20;      // work done before the loop looks around again

class SlicedAllreduce final : public LocalMachine {
 public:
  SlicedAllreduce(LocalTeam& team, LocalReduction work)
      : LocalMachine(team), work_(std::move(work)), resident_(is_resident()) {
    slice_ = slice_begin(work_.bytes, me(), n());
    std::size_t longest = 0;
    for (int j = 0; j < n(); ++j) {
      longest = std::max(longest, slice_begin(work_.bytes, j + 1, n()) -
                                      slice_begin(work_.bytes, j, n()));
    }
    chunks_ = std::max<std::size_t>(1, (longest + kChunkBytes - 1) / kChunkBytes);
  }

  Step step() override {
    bool moved = false;
    for (std::size_t done = 0; done < kStepBytes; done += kChunkBytes) {
      const Step step = step_once();
      if (step == Step::finished) return step;
      if (step == Step::waiting) return moved ? Step::advanced : Step::waiting;
      moved = true;
    }
    return Step::advanced;
  }

  bool ready() const override {
    if (!started_) return may_start();
    if (shown_ < chunks_) return true;
    if (reduced_ < chunks_) return team_.all_in(at(reduced_ + 1));
    return team_.all_out(at(chunks_));
  }
  bool committed() const override {
    return started_ && reduced_ == chunks_ && team_.all_out(at(chunks_));
  }
  const Status& trouble() const override { return trouble_; }

 private:
  std::string_view what() const override {
    return resident_ ? "resident allreduce" : "sliced allreduce";
  }

  // The caller's tensor is one piece of the arena, in place, with nothing to scale on the way in.
  bool is_resident() const {
    return work_.items.size() == 1 && work_.prescale == 1.0 &&
           work_.items[0].source == work_.items[0].target && work_.items[0].source != nullptr &&
           team_.own().holds(work_.items[0].source, work_.bytes);
  }

  Step step_once() {
    if (!started_ && !start()) return Step::waiting;
    if (reduced_ < shown_ && team_.all_in(at(reduced_ + 1))) {
      reduce_chunk();
      return Step::advanced;
    }
    if (shown_ < chunks_) {
      show_chunk();
      return Step::advanced;
    }
    if (reduced_ < chunks_ || !team_.all_out(at(chunks_))) return Step::waiting;
    if (!all_resident()) {
      if (copied_ < work_.bytes) {
        copy_out();
        return Step::advanced;
      }
    }
    publish_done();
    if (!resident_) team_.retire_window(window_offset_, operation_);
    return Step::finished;
  }

  bool start() {
    if (!may_start() || !trouble_.ok()) return false;
    if (resident_) {
      window_offset_ = team_.own().offset_of(work_.items[0].source);
      shown_ = chunks_;
    } else {
      auto window = team_.take_window(work_.bytes);
      if (!window) trouble_ = window.status();
      if (!window || !window.value()) return false;
      window_offset_ = **window;
    }
    window_ = team_.own().at(window_offset_);
    my_line().window.store(window_offset_, std::memory_order_relaxed);
    my_line().resident.store(resident_ ? 1 : 0, std::memory_order_relaxed);
    if (resident_) publish_in(chunks_);
    started_ = true;
    return true;
  }

  // Chunk c of member j's slice.
  std::pair<std::size_t, std::size_t> chunk(int j, std::size_t c) const {
    const std::size_t begin = slice_begin(work_.bytes, j, n());
    const std::size_t end = slice_begin(work_.bytes, j + 1, n());
    return {std::min(end, begin + c * kChunkBytes), std::min(end, begin + (c + 1) * kChunkBytes)};
  }

  void show_chunk() {
    for (int d = 1; d < n(); ++d) {
      const auto [begin, end] = chunk((me() + d) % n(), shown_);
      gather_range(work_, begin, end, window_ + begin);
    }
    publish_in(++shown_);
  }

  // Every member shows at once whether it is resident, so all come to the same answer.
  bool all_resident() const {
    for (int member = 0; member < n(); ++member) {
      if (line_of(member).resident.load(std::memory_order_relaxed) == 0) return false;
    }
    return true;
  }

  void reduce_chunk() {
    const auto [begin, end] = chunk(me(), reduced_);
    if (begin < end) {
      if (all_resident()) {
        reduce_resident(begin, end);
      } else {
        reduce_into_window(begin, end);
      }
    }
    publish_out(++reduced_);
  }

  void reduce_into_window(std::size_t begin, std::size_t end) {
    const std::size_t element = size_of(work_.dtype);
    const void* inputs[kMostMembers];
    const auto reduce = [&](const std::byte* own, std::size_t from, std::size_t bytes) {
      for (int member = 0; member < n(); ++member) {
        inputs[member] = member == me() ? own : window_of(member, work_.bytes) + from;
      }
      kernels::reduce_many(work_.dtype, work_.op, window_ + from,
                           {inputs, static_cast<std::size_t>(n())}, bytes / element);
    };
    for_range(work_.items, begin, end,
              [&](const LocalItem& item, std::size_t from, std::size_t bytes, std::size_t place) {
                const bool direct = item.source != nullptr && work_.prescale == 1.0;
                if (!direct) gather_range(work_, place, place + bytes, window_ + place);
                reduce(direct ? item.source + from : window_ + place, place, bytes);
              });
    if (needs_finish(work_)) finish_range(work_, window_ + begin, window_ + begin, end - begin);
  }

  void reduce_resident(std::size_t begin, std::size_t end) {
    const std::size_t element = size_of(work_.dtype);
    const bool finish = needs_finish(work_);
    std::byte* places[kMostMembers];
    const void* inputs[kMostMembers];
    for (int member = 0; member < n(); ++member) {
      places[member] = window_of(member, work_.bytes);
    }
    for (std::size_t at = begin; at < end; at += kBlockBytes) {
      const std::size_t bytes = std::min(kBlockBytes, end - at);
      for (int member = 0; member < n(); ++member) inputs[member] = places[member] + at;
      kernels::reduce_many(work_.dtype, work_.op, places[me()] + at,
                           {inputs, static_cast<std::size_t>(n())}, bytes / element);
      if (finish) finish_range(work_, places[me()] + at, places[me()] + at, bytes);
      for (int d = 1; d < n(); ++d) {
        std::memcpy(places[(me() + d) % n()] + at, places[me()] + at, bytes);
      }
    }
  }

  // The next piece of the result, beginning with this member's own slice, which is still warm.
  void copy_out() {
    const std::size_t place = (slice_ + copied_) % work_.bytes;
    int owner = 0;
    while (slice_begin(work_.bytes, owner + 1, n()) <= place) ++owner;
    const std::size_t slice_end = slice_begin(work_.bytes, owner + 1, n());
    const std::size_t end = std::min({slice_end, place + kChunkBytes});
    const std::byte* from = window_of(owner, work_.bytes) + place;
    // A resident tensor holds its own slice already.
    if (!(resident_ && owner == me())) scatter_range(work_, place, end, from);
    copied_ += end - place;
  }

  LocalReduction work_;
  const bool resident_;
  Status trouble_;
  bool started_ = false;
  std::size_t slice_ = 0;
  std::size_t chunks_ = 1, shown_ = 0, reduced_ = 0, copied_ = 0;
  std::size_t window_offset_ = 0;
  std::byte* window_ = nullptr;
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_sliced_allreduce(LocalTeam& team, LocalReduction work) {
  return std::make_unique<SlicedAllreduce>(team, std::move(work));
}

std::unique_ptr<CollectiveMachine> make_local_allreduce(LocalTeam& team, LocalReduction work) {
  if (work.bytes <= kTinyBytes) return make_tiny_allreduce(team, std::move(work));
  return make_sliced_allreduce(team, std::move(work));
}

}  // namespace unisono
