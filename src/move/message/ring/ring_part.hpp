// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Some data on its way around one ring of all members. In step t every member sends slice (p - t),
// where p is its position on the ring, to its right and receives slice (p - t - 1) from its left,
// which it sends on in step t + 1. A ring that reduces does so for n-1 steps; the last of them
// leaves each member with one finished slice. A ring that gathers passes those on for n-1 steps.
// A slice is cut into segments; one is reduced while the next travels. The segments a member
// receives are, in order, those it sends from step 1 on, so both are one list.
//
// What is reduced on the way stays in slots, of which there are as many as a slice has segments and
// a few more: the inputs are read once and the outputs written once. Sums of 16- and 8-bit floats
// travel as float32 partials between the first step, in which the inputs are sent as they are, and
// the last, which rounds. They do not land on inputs, so inputs may be partials themselves.
// Thread: the one that drives the engine. Stays at its address while transfers are open.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/kernels.hpp"
#include "move/message/machine.hpp"
#include "move/message/patterns.hpp"
#include "move/message/segment_stream.hpp"

namespace unisono::move {

struct RingWork {
  DType dtype = DType::u8;
  ReduceOp op = ReduceOp::sum;
  bool reduces = true, gathers = true;
  // In elements, by position on the ring, each in one piece or several.
  std::vector<std::vector<patterns::Slice>> slices = {};
  kernels::Operand in = {};                 // what this member contributes, where the ring reduces
  std::byte* out = nullptr;                 // may be the same memory
  std::size_t out_begin = 0;                // the element that lies at out
};

class RingPart {
 public:
  // order: the members along the ring. number < 8: tells apart those of one collective.
  RingPart(const MoveContext& context, RingWork work, std::span<const int> order, unsigned number);
  RingPart(const RingPart&) = delete;
  RingPart& operator=(const RingPart&) = delete;

  void advance(Pass& pass);
  bool finished() const { return sends_done_ == sent_end_ && receives_done_ == receives(); }
  // Of a ring that only gathers: how many elements have come of the slices before the own one on
  // the ring, the nearest first.
  std::size_t elements_received() const { return elements_received_; }
  // Of the own slice no more than so many elements may be sent so far.
  void own_is_here(std::size_t elements) { own_here_ = elements; }
  std::size_t receives() const { return segments_.size() - first_received_; }
  std::size_t receives_done() const { return receives_done_; }
  void add_pending(OpenTransfer& pending) const;

 private:
  struct Segment {
    std::size_t begin, count;               // elements
    int step;                               // sent in this one, received in the one before
  };

  void add_slice(const std::vector<patterns::Slice>& pieces, int step);
  void make_slots();
  bool is_reduced(const Segment& segment) const {
    return work_.reduces && segment.step > 0 && segment.step < n_;
  }
  // Whether what is sent in a step are partials.
  bool sends_partials(int step) const {
    if (!partials_ || step >= n_ - 1) return false;
    return step > 0 || work_.in.partial;
  }
  std::size_t width(bool partial) const {
    return partial ? sizeof(float) : size_of(work_.dtype);
  }
  bool can_send() const;
  bool can_receive() const;
  void open_send();
  void open_receive();
  void close_sends(Pass& pass);
  void close_receives(Pass& pass);
  void reduce(std::size_t received);
  std::byte* result_at(const Segment& segment) const;
  std::byte* slot(std::size_t received) const;
  std::byte* arrival_at(std::size_t received) const;
  transport::Label label_of(std::size_t number) const;

  const MoveContext* context_;
  const RingWork work_;
  const unsigned phase_;
  const int n_;
  const bool partials_;
  Rank right_ = 0, left_ = 0;
  std::vector<Segment> segments_;           // of steps 0, 1, ...: sent up to sent_end_
  std::vector<std::size_t> step_ends_;      // in segments_
  std::size_t elements_received_ = 0;
  std::size_t own_here_ = SIZE_MAX, own_sent_ = 0;  // elements of step 0
  std::size_t first_received_ = 0;          // segments of step 0 are only sent
  std::size_t around_ = 0;                  // segments in one turn of the ring
  std::size_t sent_end_ = 0;
  std::size_t slots_ = 0, slot_bytes_ = 0;
  std::unique_ptr<std::byte[]> slot_memory_;
  std::array<transport::Transfer, kWindow> sends_, receives_;
  std::size_t sends_open_ = 0, sends_done_ = 0, receives_open_ = 0, receives_done_ = 0;
};

}  // namespace unisono::move
