// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// sparse allreduce over hosts: the members of a host send their streams to its first one, which
// adds them up in member order; those leaders run another algorithm among themselves, and each
// tells its host the result.
// Steps: 2 and those of the leaders. Bytes between hosts: those of the inner algorithm with as many
// members as there are hosts, each with what its host has together. Wins where members of a host
// have indices in common and the network between hosts is what takes time.
#include "base/data/text.hpp"
#include "move/host_team.hpp"
#include "move/sparse/algorithms.hpp"
#include "move/sparse/split.hpp"

namespace unisono::move {

namespace {

Members leaders_of(const MoveContext& context) {
  std::vector<Rank> leaders;
  for (const auto& host : context.host->groups.hosts) leaders.push_back(host.front());
  std::sort(leaders.begin(), leaders.end());
  return Members::of(std::move(leaders), context.members->rank_of(context.me()));
}

class SparseHierarchy final : public HandingMachine {
 public:
  SparseHierarchy(MoveContext context, SparseWork work, stream::Stream& out)
      : HandingMachine("sparse_allreduce/hierarchical", context, std::move(work), out),
        leaders_(leaders_of(context)) {
    for (const Rank rank : context.host->groups.hosts[context.host->groups.home]) {
      here_.push_back(context.members->index_of(rank));
    }
  }

 private:
  static constexpr unsigned kUp = 0, kDown = 1;  // channels
  enum class Stage : std::uint8_t { start, up, leaders, down };

  bool leads() const { return here_.front() == context_.me(); }

  bool proceed() override {
    if (stage_ == Stage::start) {
      begin();
      next(Stage::up);
    }
    if (stage_ == Stage::up) {
      if (!exchange_.advance(pass_, trouble_)) return false;
      if (leads()) hand_over();
      next(leads() ? Stage::leaders : Stage::down);
      if (!leads()) expect_result();
    }
    if (stage_ == Stage::leaders) {
      if (!proceed_with_rest()) return false;
      send_result();
      next(Stage::down);
    }
    if (!exchange_.advance(pass_, trouble_)) return false;
    if (leads()) {
      finish_with(std::move(result_));
    } else {
      finish_with(stream::Stream::copy_of(exchange_.receives.front().view()));
    }
    return true;
  }

  void next(Stage stage) {
    stage_ = stage;
    pass_.moved = true;
  }

  void begin() {
    if (!leads()) {
      exchange_.sends.emplace_back(context_, here_.front(), kUp, packed(work_.mine, 0));
      return;
    }
    for (std::size_t i = 1; i < here_.size(); ++i) {
      exchange_.receives.emplace_back(context_, here_[i], kUp, expecting(0, length(), true));
    }
  }

  void hand_over() {
    if (here_.size() == 1) {
      sum_ = stream::Stream::copy_of(work_.mine, working_dtype());  // as the other leaders have it
    } else {
      std::uint64_t total = work_.mine.nnz();
      for (const auto& from : exchange_.receives) total += from.view().nnz();
      SegmentSum sum(work_.op, {work_.dtype, length(), work_.dense_multiplier, total});
      sum.add(work_.mine);
      for (const auto& from : exchange_.receives) sum.add(from.view());
      sum_ = sum.take(working_dtype());
    }
    exchange_.clear();
    MoveContext between = context_;
    between.members = &leaders_;
    between.host = nullptr;
    SparseWork work = work_;
    work.mine = sum_.view();
    const auto inner = work_.inner == "hierarchical" ? "ssar_split_allgather" : work_.inner;
    rest_ = make_sparse_allreduce(inner, between, work, result_);
  }

  void send_result() {
    const SharedPacket packet = packed(result_.view(), 0);
    for (std::size_t i = 1; i < here_.size(); ++i) {
      exchange_.sends.emplace_back(context_, here_[i], kDown, packet);
    }
  }
  void expect_result() {
    exchange_.clear();
    exchange_.receives.emplace_back(context_, here_.front(), kDown,
                                    expecting(0, length(), false));
  }

  void add_pending(OpenTransfer& pending) const override { exchange_.add_pending(pending); }
  std::string phase() const override {
    if (stage_ == Stage::leaders) return HandingMachine::phase();
    return stage_ == Stage::down ? "the result to the members of each host"
                                 : "the members' streams to the first of their host";
  }

  const Members leaders_;
  std::vector<int> here_;                   // members of this host; the first one leads
  Stage stage_ = Stage::start;
  PacketExchange exchange_;
  stream::Stream sum_;                      // of this host
  stream::Stream result_;
};

}  // namespace

MadeMachine make_sparse_hierarchical(MoveContext context, SparseWork work, stream::Stream& out) {
  if (context.host == nullptr) {
    const auto inner = work.inner == "hierarchical" ? "ssar_split_allgather" : work.inner;
    return make_sparse_allreduce(inner, context, std::move(work), out);
  }
  return std::make_unique<SparseHierarchy>(context, std::move(work), out);
}

}  // namespace unisono::move
