// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// sparse allreduce, split: member p owns the indices from N p / n to N (p+1) / n, or, balanced, as
// many elements as the others. Everybody sends each owner its elements there, the owner reduces
// them in member order and tells all the result.
// ssar_split_allgather gathers what is there. Steps: 2, one more when balanced. Bytes sent per
// member: (n-1)/n of its stream, and n-1 times what it has reduced, which is between 1/n of a
// stream and a whole one. Wins with streams that are long and have not grown dense.
// dsar_split_allgather gathers dense slices: (n-1)/n of the stream, and (n-1)/n of the dense data,
// or of what a codec makes of it. Wins where the result is dense anyway: half the bytes of a dense
// allreduce at best, a codec far less, independent of n.
#include <cstring>

#include "base/data/text.hpp"
#include "kernels/kernels.hpp"
#include "move/message/patterns.hpp"
#include "move/sparse/algorithms.hpp"
#include "move/sparse/split.hpp"

namespace unisono::move {

namespace {

constexpr Phase kSurveyPhase = Phase::round;

// Agrees on cuts, and reduces the own slice.
class SplitMachine : public SparseMachine {
 public:
  SplitMachine(std::string name, MoveContext context, SparseWork work, stream::Stream& out)
      : SparseMachine(std::move(name), context, std::move(work), out) {}

 protected:
  // True when the slice is reduced.
  bool reduce() {
    if (!split_) {
      if (!agree()) return false;
      pass_.moved = true;
    }
    return split_->advance(pass_, trouble_);
  }
  SplitReduction& split() { return *split_; }

  void add_pending(OpenTransfer& pending) const override {
    if (survey_) survey_->add_pending(pending);
    if (split_) split_->add_pending(pending);
  }
  std::string phase() const override {
    return split_ ? split_->phase() : std::string("where to cut");
  }

 private:
  bool agree() {
    if (!work_.balanced || context_.n() == 1) {
      split_.emplace(context_, work_, even_cuts(length(), context_.n()));
      return true;
    }
    if (!survey_) {
      survey_.emplace(context_, kSurveyPhase, sizeof(SurveyAnswer));
      const SurveyAnswer mine = survey_answer(work_.mine);
      std::memcpy(survey_->mine().data(), &mine, sizeof mine);
    }
    if (!survey_->advance(pass_)) return false;
    std::vector<SurveyAnswer> answers(static_cast<std::size_t>(context_.n()));
    for (int p = 0; p < context_.n(); ++p) {
      std::memcpy(&answers[static_cast<std::size_t>(p)], survey_->of(p).data(),
                  sizeof(SurveyAnswer));
    }
    split_.emplace(context_, work_, balanced_cuts(length(), answers));
    return true;
  }

  std::optional<TellAll> survey_;
  std::optional<SplitReduction> split_;
};

class SsarSplit final : public SplitMachine {
 public:
  SsarSplit(MoveContext context, SparseWork work, stream::Stream& out)
      : SplitMachine("sparse_allreduce/ssar_split_allgather", context, std::move(work), out) {}

 private:
  bool proceed() override {
    if (!gather_) {
      if (!reduce()) return false;
      const stream::Stream slice = split().sum().take(work_.dtype);
      gather_.emplace(context_, work_, split().cuts(), packed(slice.view(), split().begin()));
      pass_.moved = true;
    }
    if (!gather_->advance(pass_, trouble_)) return false;
    finish_with(gather_->concatenated());
    return true;
  }

  void add_pending(OpenTransfer& pending) const override {
    if (gather_) gather_->add_pending(pending);
    else SplitMachine::add_pending(pending);
  }
  std::string phase() const override {
    return gather_ ? std::string("the owners' results") : SplitMachine::phase();
  }

  std::optional<PacketGather> gather_;
};

// Slices of known length, so that no header goes ahead. With a codec they are packed, and every
// slice is what its packed form decodes to, the own one included.
class DsarSplit final : public SplitMachine {
 public:
  DsarSplit(MoveContext context, SparseWork work, stream::Stream& out)
      : SplitMachine("sparse_allreduce/dsar_split_allgather", context, std::move(work), out),
        result_(work_.dtype, work_.length()) {}

 private:
  bool proceed() override {
    if (!gathering_) {
      if (!reduce()) return false;
      begin_gather();
      gathering_ = true;
      pass_.moved = true;
    }
    bool done = true;
    for (auto& one : streams_) {
      one.advance(pass_);
      done = done && one.finished();
    }
    if (!done) return false;
    decode_all();
    finish_with(std::move(result_));
    return true;
  }

  std::size_t begin_of(int p) const { return static_cast<std::size_t>(cuts_[index(p)]); }
  std::size_t count_of(int p) const {
    return static_cast<std::size_t>(cuts_[index(p) + 1]) - begin_of(p);
  }
  static std::size_t index(int p) { return static_cast<std::size_t>(p); }
  std::byte* values_of(int p) {
    return result_.values().data() + begin_of(p) * size_of(work_.dtype);
  }
  std::span<std::byte> travelling(int p) {
    if (work_.codec != nullptr) return packed_[index(p)];
    return {values_of(p), count_of(p) * size_of(work_.dtype)};
  }

  void begin_gather() {
    const int n = context_.n(), me = context_.me();
    cuts_ = split().cuts();
    const stream::Stream slice = split().sum().take(work_.dtype, true);
    result_.make_dense();
    if (count_of(me) > 0) std::memcpy(values_of(me), slice.values().data(), slice.values().size());
    if (work_.codec != nullptr) {
      for (int p = 0; p < n; ++p) {
        packed_.emplace_back(count_of(p) > 0 ? work_.codec->bytes(count_of(p)) : 0);
      }
      if (count_of(me) > 0) {
        work_.codec->encode(me, begin_of(me), work_.dtype, values_of(me), count_of(me),
                            packed_[index(me)]);
      }
    }
    for (int d = 1; d < n; ++d) {
      const int to = patterns::wrap(me + d, n), from = patterns::wrap(me - d, n);
      streams_.emplace_back(context_, to, channel_phase(1)).send_from(travelling(me));
      streams_.emplace_back(context_, from, channel_phase(1)).receive_into(travelling(from));
    }
  }

  void decode_all() {
    if (work_.codec == nullptr) return;
    for (int p = 0; p < context_.n(); ++p) {
      if (count_of(p) == 0) continue;
      work_.codec->decode(p, begin_of(p), work_.dtype, packed_[index(p)], values_of(p),
                          count_of(p));
    }
  }

  void add_pending(OpenTransfer& pending) const override {
    SplitMachine::add_pending(pending);
    for (const auto& one : streams_) one.add_pending(pending);
  }
  std::string phase() const override {
    return gathering_ ? std::string("the owners' dense slices") : SplitMachine::phase();
  }

  bool gathering_ = false;
  Cuts cuts_;
  stream::Stream result_;
  std::vector<std::vector<std::byte>> packed_;
  std::deque<SegmentStream> streams_;
};

}  // namespace

MadeMachine make_ssar_split_allgather(MoveContext context, SparseWork work, stream::Stream& out) {
  return std::make_unique<SsarSplit>(context, std::move(work), out);
}

MadeMachine make_dsar_split_allgather(MoveContext context, SparseWork work, stream::Stream& out) {
  return std::make_unique<DsarSplit>(context, std::move(work), out);
}

}  // namespace unisono::move
