// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// allreduce, reducescatter and allgather around rings (ring_part.hpp).
//
// ring: one ring in member order. Steps: 2 (n-1), half of them for reducescatter and allgather.
// Bytes sent per member: 2 (n-1)/n of the data, half of that for the others. Wins with many members
// and large data: every link carries the same load and each member talks to two.
// rings: the data is cut into two or four parts, each on a ring of its own: in member order and
// against it, and from five members on also in strides, so that a member sends to, and receives
// from, up to four at a time. Steps and bytes as above. Wins where one stream does not fill the
// wire, or where the paths between hosts are several.
//
// 16- and 8-bit floats: partials in float32 make the reducing half longer: 3 (n-1)/n of the data
// with 16 bits, 5 (n-1)/n with 8, less the first step. That pays where direct, which sends
// 2 (n-1)/n and rounds once as well, has too many messages: beyond 8 members.
#include <cstring>
#include <deque>

#include "base/data/text.hpp"
#include "move/algorithms.hpp"
#include "move/message/ring/ring_part.hpp"

namespace unisono::move {

namespace {

class Rings final : public Machine {
 public:
  using Machine::Machine;
  // stride: how far the next member of the ring is; has no divisor in common with n.
  void add(RingWork work, int stride) {
    std::vector<int> order;
    for (int i = 0; i < context_.n(); ++i) {
      order.push_back(patterns::wrap(i * stride, context_.n()));
    }
    parts_.emplace_back(context_, std::move(work), order, static_cast<unsigned>(parts_.size()));
  }

 private:
  bool advance() override {
    bool done = true;
    for (RingPart& part : parts_) {
      part.advance(pass_);
      done = done && part.finished();
    }
    return done;
  }
  void add_pending(OpenTransfer& pending) const override {
    for (const RingPart& part : parts_) part.add_pending(pending);
  }
  std::string phase() const override {
    std::size_t done = 0, all = 0;
    for (const RingPart& part : parts_) {
      done += part.receives_done();
      all += part.receives();
    }
    return cat(done, " of ", all, " segments received");
  }

  std::deque<RingPart> parts_;
};

// Every member owns an equal slice of these elements.
std::vector<std::vector<patterns::Slice>> equal_slices(patterns::Slice all, int n) {
  std::vector<std::vector<patterns::Slice>> slices;
  for (int i = 0; i < n; ++i) {
    const patterns::Slice slice = patterns::slice_of(all.count(), n, i);
    slices.push_back({{all.begin + slice.begin, all.begin + slice.end}});
  }
  return slices;
}

std::vector<std::vector<patterns::Slice>> slices_of(const Extents& counts, std::size_t width) {
  std::vector<std::vector<patterns::Slice>> slices;
  std::size_t begin = 0;
  for (const std::size_t count : counts) {
    slices.push_back({{begin, begin + count / width}});
    begin += count / width;
  }
  return slices;
}

std::unique_ptr<CollectiveMachine> make_rings(std::string name, MoveContext context, DType dtype,
                                              ReduceOp op, kernels::Operand in,
                                              std::span<std::byte> out,
                                              const std::vector<int>& strides) {
  auto machine = std::make_unique<Rings>(std::move(name), context);
  const std::size_t elements = out.size() / size_of(dtype);
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const auto part = patterns::slice_of(elements, static_cast<int>(strides.size()),
                                         static_cast<int>(i));
    machine->add({.dtype = dtype,
                  .op = op,
                  .slices = equal_slices(part, context.n()),
                  .in = in,
                  .out = out.data()},
                 strides[i]);
  }
  return machine;
}

}  // namespace

std::unique_ptr<CollectiveMachine> make_allreduce_ring(MoveContext context, DType dtype,
                                                       ReduceOp op, std::span<std::byte> data) {
  return make_rings("allreduce/ring", context, dtype, op, {data.data()}, data, {1});
}

std::unique_ptr<CollectiveMachine> make_allreduce_rings(MoveContext context, DType dtype,
                                                        ReduceOp op, std::span<std::byte> data) {
  return make_rings("allreduce/rings", context, dtype, op, {data.data()}, data,
                    patterns::ring_strides(context.n()));
}

std::unique_ptr<CollectiveMachine> make_ring_of_partials(MoveContext context, DType dtype,
                                                         ReduceOp op,
                                                         std::span<const std::byte> partials,
                                                         std::span<std::byte> out) {
  return make_rings("allreduce/ring", context, dtype, op, {partials.data(), true}, out, {1});
}

std::unique_ptr<CollectiveMachine> make_reducescatter_ring(MoveContext context, DType dtype,
                                                           ReduceOp op,
                                                           std::span<const std::byte> data,
                                                           const Extents& counts,
                                                           std::span<std::byte> out) {
  if (context.n() == 1 && !out.empty()) std::memcpy(out.data(), data.data(), out.size());
  auto machine = std::make_unique<Rings>("reducescatter/ring", context);
  auto slices = slices_of(counts, size_of(dtype));
  const std::size_t mine = slices[static_cast<std::size_t>(context.me())].front().begin;
  machine->add({.dtype = dtype,
                .op = op,
                .gathers = false,
                .slices = std::move(slices),
                .in = {data.data()},
                .out = out.data(),
                .out_begin = mine},
               1);
  return machine;
}

std::unique_ptr<CollectiveMachine> make_allgather_ring(MoveContext context,
                                                       std::span<const std::byte>,
                                                       const Extents& counts,
                                                       std::span<std::byte> out) {
  auto machine = std::make_unique<Rings>("allgather/ring", context);
  machine->add({.reduces = false, .slices = slices_of(counts, 1), .out = out.data()}, 1);
  return machine;
}

}  // namespace unisono::move
