// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// allreduce, hierarchical, for members on several hosts:
//   1. the members of a host reduce in shared memory, each its slice (reduce-scatter by window);
//   2. each exchanges its slice with the members that have the same one on the other hosts (direct,
//      or what suits many hosts);
//   3. the members of a host copy each other's finished slices (all-gather by window).
// There are as many slices as the host with the fewest members has of them; the others of larger
// hosts have none and take part in 1 and 3 only. Whoever is alone on its host takes part in 2 only.
// Bytes sent per host: 2 (h-1)/h of the data with h hosts, however many ranks they have.
// 16- and 8-bit floats are reduced to float32 in 1, which 2 sends and rounds once: 3 (h-1)/h of the
// data with 16 bits. Flat, every rank would send 2 (n-1)/n.
//
// The data passes in chunks. Steps in shared memory come one after the other in an order that all
// members of a host know; exchanges of chunks are on their way while later chunks are reduced and
// earlier ones gathered:
//   memory     reduce 0 · reduce 1 · reduce 2 · gather 0 · reduce 3 · gather 1 · ...
//   messages              exchange 0 · exchange 1 · exchange 2 ········ exchange 3 ...
#include <array>
#include <vector>

#include "base/data/text.hpp"
#include "kernels/kernels.hpp"
#include "move/algorithms.hpp"
#include "move/host_team.hpp"
#include "move/local/local.hpp"
#include "move/message/patterns.hpp"

namespace unisono::move {

namespace {

// How the data is cut, and how many chunks are exchanged at a time. Sizes are multiples of every
// element size.
struct Pipeline {
  std::size_t chunk_bytes, in_flight;
};
constexpr Pipeline kFewHosts{1 << 20, 3};
static_assert(kFewHosts.in_flight <= kDirectTurns);
// The algorithms for many hosts have no turns that would tell chunks apart.
constexpr Pipeline kManyHosts{arena::kHostWindowBytes, 1};
static_assert(kFewHosts.chunk_bytes <= arena::kHostWindowBytes);
constexpr std::size_t kHalvingPartialsMax = 512 << 10;  // between many hosts; beyond it a ring

class HierarchicalAllreduce final : public CollectiveMachine {
 public:
  HierarchicalAllreduce(MoveContext context, DType dtype, ReduceOp op, std::span<std::byte> data)
      : context_(context), across_context_(context), dtype_(dtype), op_(op), data_(data),
        few_hosts_(context.host->groups.hosts.size() <= std::size_t{kDirectMembersMax}),
        wants_partials_(kernels::wants_partials(dtype, op)),
        pipeline_(few_hosts_ ? kFewHosts : kManyHosts),
        slices_(static_cast<int>(context.host->groups.least)),
        chunks_(patterns::segments_in(data.size(), pipeline_.chunk_bytes)), exchanges_(chunks_) {
    across_context_.members = &context.host->groups.across;
    across_context_.host = nullptr;
    if (wants_partials_) partials_.resize(std::min(pipeline_.in_flight, chunks_));
  }

  Step step() override {
    bool advanced = false;
    for (bool moved = true; moved; advanced = advanced || moved) {
      moved = step_memory();
      moved = step_exchanges() || moved;
    }
    if (gathered_ == chunks_) return Step::finished;
    return advanced ? Step::advanced : Step::waiting;
  }

  bool ready() const override { return memory_ != nullptr && memory_->ready(); }

  const Status& trouble() const override {
    return memory_ != nullptr ? memory_->trouble() : CollectiveMachine::trouble();
  }

  std::string describe() const override {
    std::string out = cat("allreduce/hierarchical, set ", context_.set, ", bucket ",
                          context_.bucket, ": ", reduced_, " chunks of ", chunks_,
                          " reduced on this host, ", exchanged_, " exchanged, ", gathered_,
                          " finished");
    if (memory_ != nullptr) out += cat("; ", memory_->describe());
    if (exchanged_ < reduced_ && has_slice()) {
      out += cat("; ", exchanges_[exchanged_]->describe());
    }
    return out;
  }

  void abandon() override {
    for (std::size_t i = exchanged_; i < reduced_ && has_slice(); ++i) exchanges_[i]->abandon();
  }

 private:
  LocalTeam& team() const { return *context_.host->team; }
  int n() const { return team().n(); }
  bool has_slice() const { return team().me() < slices_; }

  std::span<std::byte> chunk(std::size_t index) const {
    const std::size_t begin = index * pipeline_.chunk_bytes;
    return data_.subspan(begin, std::min(pipeline_.chunk_bytes, data_.size() - begin));
  }
  std::span<std::byte> slice(std::size_t index, int member) const {
    const std::span<std::byte> all = chunk(index);
    if (member >= slices_) return all.last(0);
    const std::size_t width = size_of(dtype_);
    const auto part = patterns::slice_of(all.size() / width, slices_, member);
    return all.subspan(part.begin * width, part.count() * width);
  }
  Extents slices(std::size_t index) const {
    Extents counts;
    for (int member = 0; member < n(); ++member) counts.push_back(slice(index, member).size());
    return counts;
  }
  // What this member has reduced of its slice, in float32. A chunk's place is free again when the
  // chunk is gathered, before which no later one that would use it is reduced.
  std::span<std::byte> partials(std::size_t index) {
    auto& memory = partials_[index % partials_.size()];
    const std::size_t elements = slice(index, team().me()).size() / size_of(dtype_);
    // The first chunk is never shorter than a later one.
    if (memory == nullptr) memory.reset(new std::byte[elements * sizeof(float)]);
    return {memory.get(), elements * sizeof(float)};
  }
  // Every step in shared memory has a turn of its own, the same on all members.
  LocalTurn turn(std::size_t index, bool gathers) const {
    LocalTurn turn(team());
    turn.identity = context_.identity + 2 * index + (gathers ? 1 : 0);
    return turn;
  }

  // Whether the next step in shared memory gathers: as long as there are any, a few chunks are
  // reduced ahead, so that the wire does not wait for the memory.
  bool gathers_next() const {
    return reduced_ == chunks_ || reduced_ >= gathered_ + pipeline_.in_flight;
  }

  void begin_memory() {
    if (gathered_ == chunks_) return;
    gathers_ = gathers_next();
    if (!gathers_) {
      const std::span<std::byte> all = chunk(reduced_);
      LocalReduction work{.dtype = dtype_, .op = op_};
      work.items = {{.source = all.data(), .target = nullptr, .offset = 0, .bytes = all.size()}};
      work.bytes = all.size();
      work.partials = wants_partials_;
      memory_ = make_local_reducescatter(
          turn(reduced_, false), std::move(work), slices(reduced_),
          wants_partials_ ? partials(reduced_) : slice(reduced_, team().me()));
    } else if (exchanged_ > gathered_) {
      memory_ = make_local_allgather(turn(gathered_, true), slice(gathered_, team().me()),
                                     slices(gathered_), chunk(gathered_));
    }
  }

  // With nobody else on the host, what this member has is what it has reduced.
  bool step_alone() {
    if (gathered_ == chunks_) return false;
    if (gathers_next()) {
      if (exchanged_ == gathered_) return false;
      ++gathered_;
      return true;
    }
    if (wants_partials_) {
      const std::array own{kernels::Operand{chunk(reduced_).data()}};
      kernels::reduce_partials(dtype_, op_, partials(reduced_).data(), true, own,
                               chunk(reduced_).size() / size_of(dtype_));
    }
    begin_exchange();
    return true;
  }

  bool step_memory() {
    if (n() == 1) return step_alone();
    if (memory_ == nullptr) begin_memory();
    if (memory_ == nullptr) return false;
    const Step step = memory_->step();
    if (step != Step::finished) return step == Step::advanced;
    memory_.reset();
    if (gathers_) {
      ++gathered_;
      return true;
    }
    begin_exchange();
    return true;
  }

  void begin_exchange() {
    if (has_slice()) exchanges_[reduced_] = make_exchange(slice(reduced_, team().me()));
    ++reduced_;
  }

  std::unique_ptr<CollectiveMachine> make_exchange(std::span<std::byte> mine) {
    const std::span<const std::byte> in = wants_partials_ ? partials(reduced_) : mine;
    if (few_hosts_) {
      return make_allreduce_from_regions(
          across_context_, {.dtype = dtype_,
                            .op = op_,
                            .regions = {{.in = in, .out = mine}},
                            .turn = static_cast<unsigned>(reduced_ % kDirectTurns),
                            .partials = wants_partials_});
    }
    if (!wants_partials_) return make_allreduce("auto", across_context_, dtype_, op_, mine);
    return in.size() <= kHalvingPartialsMax
               ? make_halving_of_partials(across_context_, dtype_, op_, in, mine)
               : make_ring_of_partials(across_context_, dtype_, op_, in, mine);
  }

  bool step_exchanges() {
    bool advanced = false;
    if (!has_slice() && exchanged_ < reduced_) {
      exchanged_ = reduced_;
      return true;
    }
    for (std::size_t i = exchanged_; i < reduced_; ++i) {
      const Step step = exchanges_[i]->step();
      advanced = advanced || step == Step::advanced;
      // Chunks count as exchanged in their order.
      if (step == Step::finished && i == exchanged_) {
        exchanges_[i].reset();
        ++exchanged_;
        advanced = true;
      }
    }
    return advanced;
  }

  const MoveContext context_;
  MoveContext across_context_;
  const DType dtype_;
  const ReduceOp op_;
  const std::span<std::byte> data_;
  const bool few_hosts_, wants_partials_;
  const Pipeline pipeline_;
  const int slices_;
  const std::size_t chunks_;
  std::size_t reduced_ = 0, exchanged_ = 0, gathered_ = 0;  // chunks that have come so far
  bool gathers_ = false;                    // what memory_ does: gathers or reduces
  std::unique_ptr<LocalCollective> memory_; // null between two steps
  std::vector<std::unique_ptr<std::byte[]>> partials_;  // of the chunks in flight
  std::vector<std::unique_ptr<CollectiveMachine>> exchanges_;
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_allreduce_hierarchical(MoveContext context, DType dtype,
                                                               ReduceOp op,
                                                               std::span<std::byte> data) {
  return std::make_unique<HierarchicalAllreduce>(context, dtype, op, data);
}

}  // namespace unisono::move
