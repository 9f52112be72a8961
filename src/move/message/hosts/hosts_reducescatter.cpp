// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// reducescatter, hierarchical, for members on several hosts: on every host one member stands for
// each part, the one with the place that the part's owner has on its own host. The members of a host
// reduce in shared memory, each the parts it stands for, and send them to their owners, of which
// each reduces what all hosts have, in the order of those ranks.
// Steps: one in memory for each chunk, and 1 between hosts. Bytes sent per host: the parts of the
// other hosts once, (h-1)/h of the data with h hosts, where flat every rank would send (n-1)/n.
// 16- and 8-bit floats are reduced to float32 within hosts, sent so, and rounded once, by the owner.
//
// A chunk has a piece of every part, so that all members of a host have something to reduce in each.
// What was reduced waits in one of a few slots until it has been sent, and the own part until it has
// met that of the other hosts:
//   memory     reduce 0 · reduce 1 · reduce 2 · ...
//   messages              send 0 ····· send 1 ····· send 2 ...
#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "kernels/kernels.hpp"
#include "move/algorithms.hpp"
#include "move/message/hosts/hosts_machine.hpp"
#include "move/message/owner_reduction.hpp"
#include "move/message/patterns.hpp"

namespace unisono::move {

namespace {

constexpr std::size_t kPartsInFlight = 4;   // chunks that wait to be sent, or for other hosts

// What is sent of one part, or received: segments, and how many of them there are before each chunk.
struct CutPart {
  std::vector<Segment> segments;
  std::vector<std::size_t> before;          // by chunk; one more at the end
};

// The messages: parts to their owners, and this member's from those that stand for it elsewhere.
class PartsExchange final : public Machine {
 public:
  // receiving: of the owner and those that stand for its part; with own it outlives the machine.
  PartsExchange(MoveContext context, const MoveContext& receiving, DType dtype, ReduceOp op,
                const CutPart& own)
      : Machine("reducescatter/direct between hosts", context), own_part_(own),
        own_(receiving, dtype, op, own.segments) {}

  // Call it before the first step; the part outlives the machine.
  void send(int member, const CutPart& part) {
    parts_.push_back(&part);
    streams_.emplace_back(context_, member, Phase::scatter).send_inputs(part.segments);
  }
  // This host has reduced so many chunks.
  void note_reduced(std::size_t chunks) { reduced_ = chunks; }
  // Whether nobody needs what was reduced in the chunk any more.
  bool is_over(std::size_t chunk) const {
    bool over = own_.done() >= own_part_.before[chunk + 1];
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      over = over && streams_[i].done() >= parts_[i]->before[chunk + 1];
    }
    return over;
  }
  void abandon() override {
    own_.abandon();
    for (auto& stream : streams_) stream.abandon();
  }

 private:
  bool advance() override {
    own_.advance(pass_, OwnerReduction::Do::reduce, own_part_.before[reduced_]);
    bool done = own_.finished();
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      streams_[i].advance(parts_[i]->before[reduced_], pass_);
      done = done && streams_[i].finished();
    }
    return done;
  }
  void add_pending(OpenTransfer& pending) const override {
    own_.add_pending(pending);
    for (const auto& stream : streams_) stream.add_pending(pending);
  }
  std::string phase() const override { return own_.phase(); }

  const CutPart& own_part_;
  OwnerReduction own_;
  std::vector<const CutPart*> parts_;
  std::deque<SegmentStream> streams_;       // as parts_
  std::size_t reduced_ = 0;
};

class HierarchicalReducescatter final : public HostsMachine {
 public:
  HierarchicalReducescatter(MoveContext context, DType dtype, ReduceOp op,
                            std::span<const std::byte> data, const Extents& counts,
                            std::span<std::byte> out)
      : HostsMachine("reducescatter/hierarchical", context), dtype_(dtype), op_(op), data_(data),
        wants_partials_(kernels::wants_partials(dtype, op)),
        stands_for_(static_cast<std::size_t>(team().n())) {
    begins_.push_back(0);
    for (const std::size_t count : counts) begins_.push_back(begins_.back() + count);
    chunks_ = patterns::segments_in(data.size(), chunk_bytes());
    for (const auto& host : groups().hosts) {
      for (std::size_t place = 0; place < host.size(); ++place) {
        const auto member = static_cast<std::size_t>(context.members->index_of(host[place]));
        stands_for_[place % stands_for_.size()].push_back(member);
      }
    }
    // The first chunk has the most of every part.
    for (const std::size_t member : mine()) slot_bytes_ += piece(member, 0).count() * sent_width();
    slots_.reset(new std::byte[std::min(kPartsInFlight, chunks_) * slot_bytes_]);
    begin_exchange(out);
  }

 private:
  // Long enough for messages of a good length, short enough for a window with an element of every
  // part more.
  std::size_t chunk_bytes() const {
    static_assert(3 * kChunkBytes < arena::kHostWindowBytes);
    const std::size_t wanted = static_cast<std::size_t>(context_.n()) * (128u << 10);
    return std::clamp(wanted, kChunkBytes, 3 * kChunkBytes);
  }
  std::size_t width() const { return size_of(dtype_); }
  std::size_t sent_width() const { return wants_partials_ ? sizeof(float) : width(); }
  const std::vector<std::size_t>& mine() const {
    return stands_for_[static_cast<std::size_t>(team().me())];
  }
  // Elements of a part.
  patterns::Slice piece(std::size_t member, std::size_t chunk) const {
    if (chunks_ == 0) return {};
    const std::size_t elements = (begins_[member + 1] - begins_[member]) / width();
    return patterns::slice_of(elements, static_cast<int>(chunks_), static_cast<int>(chunk));
  }
  std::byte* slot(std::size_t chunk) const {
    return slots_.get() + chunk % kPartsInFlight * slot_bytes_;
  }

  void begin_exchange(std::span<std::byte> out) {
    const auto self = static_cast<std::size_t>(context_.me());
    std::vector<std::size_t> offsets(chunks_, 0);  // in the slot of each chunk
    cuts_.resize(mine().size());
    const CutPart* own = nullptr;
    for (std::size_t i = 0; i < cuts_.size(); ++i) {
      const bool is_own = mine()[i] == self;
      if (is_own) own = &cuts_[i];
      cut(mine()[i], is_own ? out : std::span<std::byte>(), offsets, cuts_[i]);
    }
    std::vector<Rank> ranks;
    for (std::size_t host = 0; host < groups().hosts.size(); ++host) {
      ranks.push_back(groups().at(host, static_cast<std::size_t>(team().me())));
    }
    std::sort(ranks.begin(), ranks.end());
    contributors_ = Members::of(std::move(ranks), context_.members->rank_of(context_.me()));
    across_context_.members = &contributors_;
    exchange_.emplace(context_, across_context_, dtype_, op_, *own);
    for (std::size_t i = 0; i < cuts_.size(); ++i) {
      if (&cuts_[i] != own) exchange_->send(static_cast<int>(mine()[i]), cuts_[i]);
    }
    use_wire(&*exchange_);
  }

  // out is empty unless the part is this member's.
  void cut(std::size_t member, std::span<std::byte> out, std::vector<std::size_t>& offsets,
           CutPart& part) const {
    part.before.push_back(0);
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
      const patterns::Slice elements = piece(member, chunk);
      const std::span<const std::byte> reduced(slot(chunk) + offsets[chunk],
                                               elements.count() * sent_width());
      offsets[chunk] += reduced.size();
      const std::size_t most = kSegmentBytes / sent_width();
      for (std::size_t at = 0; at < elements.count(); at += most) {
        const std::size_t count = std::min(most, elements.count() - at);
        Segment segment{.in = reduced.subspan(at * sent_width(), count * sent_width()), .out = {}};
        if (!out.empty()) {
          segment.out = out.subspan((elements.begin + at) * width(), count * width());
        }
        part.segments.push_back(segment);
      }
      part.before.push_back(part.segments.size());
    }
  }

  // A slot is free again when all of the chunk that used it has been sent and met.
  bool is_here(std::size_t chunk) const override {
    return chunk < kPartsInFlight || exchange_->is_over(chunk - kPartsInFlight);
  }

  std::unique_ptr<LocalCollective> share(const LocalTurn& turn, std::size_t chunk) override {
    if (is_alone()) {
      take_own(chunk);
      return nullptr;
    }
    LocalReduction work{.dtype = dtype_, .op = op_};
    work.partials = wants_partials_;
    Extents counts;
    std::size_t reduced_bytes = 0;
    for (const auto& members : stands_for_) {
      const std::size_t before = work.bytes;
      for (const std::size_t member : members) {
        const patterns::Slice elements = piece(member, chunk);
        if (elements.count() == 0) continue;
        const std::byte* from = data_.data() + begins_[member] + elements.begin * width();
        const std::size_t bytes = elements.count() * width();
        work.items.push_back({.source = from, .offset = work.bytes, .bytes = bytes});
        work.bytes += bytes;
      }
      counts.push_back(work.bytes - before);
      if (&members == &mine()) reduced_bytes = counts.back() / width() * sent_width();
    }
    return make_local_reducescatter(turn, std::move(work), std::move(counts),
                                    {slot(chunk), reduced_bytes});
  }

  // With nobody else on the host, what this member has is what it has reduced.
  void take_own(std::size_t chunk) const {
    std::byte* to = slot(chunk);
    for (const std::size_t member : mine()) {
      const patterns::Slice elements = piece(member, chunk);
      if (elements.count() == 0) continue;
      const std::array own{
          kernels::Operand{data_.data() + begins_[member] + elements.begin * width()}};
      kernels::reduce_partials(dtype_, op_, to, wants_partials_, own, elements.count());
      to += elements.count() * sent_width();
    }
  }

  void note_shared(std::size_t chunk) override { exchange_->note_reduced(chunk + 1); }

  const DType dtype_;
  const ReduceOp op_;
  const std::span<const std::byte> data_;
  const bool wants_partials_;
  std::vector<std::size_t> begins_;         // of each part in the data; one more at the end
  std::vector<std::vector<std::size_t>> stands_for_;  // parts, by place on this host
  std::unique_ptr<std::byte[]> slots_;
  std::size_t slot_bytes_ = 0;
  std::vector<CutPart> cuts_;               // of the parts that this member stands for
  Members contributors_;                    // those that stand for this member's part, and itself
  std::optional<PartsExchange> exchange_;
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_reducescatter_hierarchical(
    MoveContext context, DType dtype, ReduceOp op, std::span<const std::byte> data,
    const Extents& counts, std::span<std::byte> out) {
  return std::make_unique<HierarchicalReducescatter>(context, dtype, op, data, counts, out);
}

}  // namespace unisono::move
