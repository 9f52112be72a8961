// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What all local machines share: their number, and the rule that keeps two operations apart.
//
// An operation writes to this rank's board lines and windows of its parity. It may start once every
// member is done with the operation two before it, the last one that used them.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/data/text.hpp"
#include "kernels/kernels.hpp"
#include "move/local/local.hpp"

namespace unisono::move {

class LocalMachine : public LocalCollective {
 public:
  explicit LocalMachine(const LocalTurn& turn)
      : team_(turn.team), turn_(turn), operation_(turn.team.begin_operation()) {}

  std::string describe() const override {
    return cat("local ", what(), ", operation ", operation_, ", waits for ", late_members());
  }
  PlanVote vote() const override { return vote_; }
  const Status& trouble() const override { return trouble_; }

 protected:
  virtual std::string_view what() const = 0;

  int n() const { return team_.n(); }
  int me() const { return team_.me(); }
  bool may_start() const {
    return trouble_.ok() && (operation_ <= 2 || team_.all_done(arena::mark(operation_ - 2, 0)));
  }
  arena::Mark at(std::uint64_t progress) const { return arena::mark(operation_, progress); }
  std::size_t parity() const { return operation_ & 1; }
  arena::BoardLine& my_line() const { return team_.my_board().line[parity()]; }
  arena::BoardLine& line_of(int member) const { return team_.board(member).line[parity()]; }
  std::byte* window_of(int member, std::size_t bytes) const {
    return team_.window_of(member, operation_, bytes);
  }
  // Call it before the first publish_in(): whoever sees that also sees the terms.
  void show_terms(bool resident, PlanVote vote) const {
    my_line().terms.store(turn_.identity << kIdentityShift | (resident ? kResident : 0) |
                              static_cast<std::uint64_t>(vote),
                          std::memory_order_relaxed);
  }
  // Call it once every member's terms are shown: it learns what they amount to. Returns false, with
  // trouble(), when a member is at another bucket; do not touch what that one has shown then.
  bool meet();
  bool meet(int member);                    // the same with one member alone
  // Whether meet() would find all members at this bucket and no vote for abort.
  bool may_meet() const;
  bool may_meet(int member) const { return same_bucket(terms_of(member)); }
  // For a failing member whose own tensor is its window: it writes there again, so what others read
  // of it from now on is not its contribution.
  void withdraw() const;
  // Whether the member, whose terms are shown, has its own tensor as its window.
  bool shows_tensor(int member) const { return (terms_of(member) & kResident) != 0; }
  // Call it after reading others' contributions: whether a resident one may have changed meanwhile.
  // The reader must not publish what came of it then. The failure itself is told by other means.
  bool somebody_withdrew() const;
  // Shares a range of the bucket among the rank's threads; no cache line has two writers.
  template <typename Body>
  void share(std::size_t begin, std::size_t end, Body body) const {
    if (team_.crew().size() == 1) {
      if (begin < end) body(begin, end);
    } else {
      team_.crew().share(begin, end, 128, body);
    }
  }
  void publish_in(std::uint64_t progress) const { team_.publish(my_line().in, at(progress)); }
  void publish_out(std::uint64_t progress) const {
    team_.publish(team_.my_board().counters.out, at(progress));
  }
  void publish_taken(std::uint64_t progress) const {
    team_.publish(team_.my_board().counters.taken, at(progress));
  }
  void publish_done() const { team_.publish(team_.my_board().counters.done, at(0)); }
  std::string late_members() const;

  // A line's terms hold the vote, flags, and the bucket's identity above them.
  static constexpr std::uint64_t kVote = 3, kResident = 4, kWithdrawn = 8;
  static constexpr unsigned kIdentityShift = 16;

  LocalTeam& team_;
  const LocalTurn turn_;
  const std::uint64_t operation_;
  Status trouble_;
  PlanVote vote_ = PlanVote::run;         // this and the next line are known once met
  bool met_ = false, all_resident_ = false, some_resident_ = false;

 private:
  std::uint64_t terms_of(int member) const {
    return line_of(member).terms.load(std::memory_order_relaxed);
  }
  bool same_bucket(std::uint64_t terms) const {
    return terms >> kIdentityShift == (turn_.identity << kIdentityShift) >> kIdentityShift;
  }
  bool refuse(int member);
};

// Calls body(item, offset in it, bytes, place in bucket) for the tensors in a range of the bucket.
template <typename Body>
void for_range(const std::vector<LocalItem>& items, std::size_t begin, std::size_t end, Body body) {
  // Items lie back to back, so the first that reaches past begin is found by bisection.
  auto it = std::partition_point(items.begin(), items.end(), [&](const LocalItem& item) {
    return item.offset + item.bytes <= begin;
  });
  for (; it != items.end() && it->offset < end; ++it) {
    const std::size_t from = std::max(begin, it->offset);
    const std::size_t to = std::min(end, it->offset + it->bytes);
    if (from < to) body(*it, from - it->offset, to - from, from);
  }
}

// Brings a range of the caller's tensors into `out`, scaled; a null source is neutral.
void gather_range(const LocalReduction& work, std::size_t begin, std::size_t end, std::byte* out);
// Brings a range of the finished bucket from `in` to the caller's tensors.
void scatter_range(const LocalReduction& work, std::size_t begin, std::size_t end,
                   const std::byte* in);
// Average and postscale over a reduced range, in place or from one place to another.
void finish_range(const LocalReduction& work, std::byte* out, const std::byte* in,
                  std::size_t bytes);
bool needs_finish(const LocalReduction& work);
// Whether the bucket holds the caller's bytes unchanged.
inline bool plain(const LocalReduction& work) { return work.prescale == 1.0 && !work.translation; }

// Where member i's slice of a bucket begins. Slices are whole cache lines: none has two writers.
inline std::size_t slice_begin(std::size_t bytes, int i, int n) {
  constexpr std::size_t kLine = 128;
  const std::size_t lines = (bytes + kLine - 1) / kLine;
  return std::min(bytes, lines * static_cast<std::size_t>(i) / static_cast<std::size_t>(n) * kLine);
}

std::unique_ptr<LocalCollective> make_tiny_allreduce(LocalTurn turn, LocalReduction work);
std::unique_ptr<LocalCollective> make_sliced_allreduce(LocalTurn turn, LocalReduction work);

}  // namespace unisono::move
