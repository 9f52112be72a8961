// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the machines of sparse streams share: the work, packets to and from members, how a result
// gets its final form, and the answer to what cannot be used.
// Thread: the one that drives the engine.
#pragma once

#include <deque>
#include <new>
#include <string>

#include "move/message/machine.hpp"
#include "move/sparse/packets.hpp"
#include "move/sparse/sparse.hpp"

namespace unisono::move {

class SparseMachine : public Machine {
 public:
  SparseMachine(std::string name, MoveContext context, SparseWork work, stream::Stream& out)
      : Machine(std::move(name), context), work_(std::move(work)), out_(&out) {}

  const Status& trouble() const final { return trouble_; }

 protected:
  // As Machine::advance(), where memory may run out.
  virtual bool proceed() = 0;

  std::uint64_t length() const { return work_.length(); }
  DType working_dtype() const { return work_.op.working_dtype(work_.dtype); }
  std::uint64_t value_bytes() const { return size_of(work_.dtype); }
  stream::Expected expecting(std::uint64_t begin, std::uint64_t end, bool partials) const {
    return {work_.dtype, partials ? working_dtype() : work_.dtype, work_.op, begin, end - begin,
            work_.sequence};
  }
  SharedPacket packed(const stream::View& view, std::uint64_t offset) const {
    return std::make_shared<const stream::Packet>(
        stream::write_packet(view, work_.op, offset, work_.sequence));
  }
  stream::Stream merge(const stream::View& left, const stream::View& right) const {
    return stream::merged(work_.op, left, right, working_dtype(), value_bytes(),
                          work_.dense_multiplier);
  }
  // Rounds, and is dense where that is shorter, so that the form depends on the elements alone.
  void finish_with(stream::Stream result) {
    if (result.dtype() != work_.dtype) {
      result = stream::Stream::copy_of(result.view(), work_.dtype);
    }
    if (kept_dense(length(), result.nnz(), value_bytes(), work_.dense_multiplier) ||
        shortest_format(length(), result.nnz(), value_bytes()) == StreamFormat::dense) {
      result.densify(work_.op);
    }
    *out_ = std::move(result);
  }

  const SparseWork work_;
  stream::Stream* const out_;
  Status trouble_;

 private:
  bool advance() final {
    bool done = false;
    try {
      done = trouble_.ok() && proceed();
    } catch (const std::bad_alloc&) {
      trouble_ = Status(Code::out_of_memory,
                        "no memory for the elements that other ranks have in a sparse collective; "
                        "use fewer elements or a dense one");
    }
    if (!trouble_.ok()) pass_.failed = true;
    return done && trouble_.ok();
  }
};

// A machine that, at some point, leaves the rest to another one.
class HandingMachine : public SparseMachine {
 public:
  using SparseMachine::SparseMachine;
  void abandon() override {
    if (rest_) rest_->abandon();
  }

 protected:
  // True when the rest is done.
  bool proceed_with_rest() {
    const Step step = rest_->step();
    if (!rest_->trouble().ok()) trouble_ = rest_->trouble();
    if (step == Step::advanced) pass_.moved = true;
    return step == Step::finished;
  }
  void add_pending(OpenTransfer&) const override {}
  std::string phase() const override {
    return rest_ ? rest_->describe() : std::string("not begun");
  }

  std::unique_ptr<CollectiveMachine> rest_;
};

// Packets that go and come at the same time.
struct PacketExchange {
  std::deque<PacketSender> sends;
  std::deque<PacketReceiver> receives;

  // True when all have arrived and left.
  bool advance(Pass& pass, Status& trouble) {
    bool done = true;
    for (auto& send : sends) {
      if (!send.finished()) send.advance(pass);
      done = done && send.finished();
    }
    for (auto& receive : receives) {
      if (!receive.finished()) receive.advance(pass, trouble);
      done = done && receive.finished();
    }
    return done;
  }
  void clear() {
    sends.clear();
    receives.clear();
  }
  void add_pending(OpenTransfer& pending) const {
    for (const auto& send : sends) send.add_pending(pending);
    for (const auto& receive : receives) receive.add_pending(pending);
  }
};

}  // namespace unisono::move
