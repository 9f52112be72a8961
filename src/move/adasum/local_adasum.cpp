// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Adasum over shared memory. Every member shows its contribution in its window, measures its slice
// of every tensor across all windows, and shows the dot products behind its contribution. Once all
// have done so, it combines its slices in place of its own contribution, which nobody else reads,
// and everyone takes the result from there. The callers' tensors are written when all of the result
// is complete.
// Waits: 3. Bytes moved per member: in, once around, and out.
#include "kernels/linear.hpp"
#include "move/adasum/adasum.hpp"
#include "move/local/machine.hpp"
#include "move/message/patterns.hpp"

namespace unisono::move {
namespace {

constexpr std::size_t kShowBytes = 4 << 20;  // work done before the loop looks around again

class LocalAdasum final : public LocalMachine {
 public:
  LocalAdasum(const LocalTurn& turn, LocalReduction work)
      : LocalMachine(turn),
        work_(std::move(work)),
        grams_at_((work_.bytes + 63) / 64 * 64),
        share_(work_.dtype, static_cast<std::size_t>(n()), work_.items.size(), pieces_of(me())) {}

  Step step() override {
    if (!ready()) return Step::waiting;
    switch (phase_) {
      case Phase::begin:
        if (!begin()) return Step::waiting;
        break;
      case Phase::show: show(); break;
      case Phase::meet:
        if (!take_bearings()) return Step::waiting;
        break;
      case Phase::measure:
        if (share_.measure(bases_)) show_grams();
        break;
      case Phase::decide: decide(); break;
      case Phase::combine:
        if (share_.combine(bases_, window_)) finish_share();
        break;
      case Phase::deliver: deliver(); break;
      case Phase::finished: return finish();
    }
    return Step::advanced;
  }

  bool ready() const override {
    switch (phase_) {
      case Phase::begin: return may_start() && (votes_abort() || team_.has_window(window_bytes()));
      case Phase::meet: return trouble_.ok() && team_.all_in(at(1));
      case Phase::decide: return team_.all_in(at(2));
      case Phase::deliver: return team_.all_out(at(1));
      default: return true;
    }
  }
  bool committed() const override {
    return phase_ >= Phase::deliver && !aborted_ && team_.all_out(at(1));
  }
  bool joined() const override { return phase_ >= Phase::meet && team_.all_in(at(1)); }

 private:
  enum class Phase : std::uint8_t {
    begin,
    show,
    meet,
    measure,
    decide,
    combine,
    deliver,
    finished
  };

  std::string_view what() const override { return "adasum"; }
  bool votes_abort() const { return work_.vote == PlanVote::abort; }
  std::size_t window_bytes() const {
    return grams_at_ + local_adasum_extra(n(), work_.items.size());
  }

  std::vector<adasum::Piece> pieces_of(int member) const {
    std::vector<adasum::Piece> pieces;
    const std::size_t element = size_of(work_.dtype);
    for (std::size_t i = 0; i < work_.items.size(); ++i) {
      const LocalItem& item = work_.items[i];
      const auto slice = patterns::slice_of(item.bytes / element, n(), member);
      pieces.push_back({i, item.offset + slice.begin * element, slice.count()});
    }
    return pieces;
  }

  bool begin() {
    if (!votes_abort()) {
      auto window = team_.take_window(window_bytes());
      if (!window) trouble_ = window.status();
      if (!window || !window.value()) return false;
      window_offset_ = **window;
      has_window_ = true;
    }
    window_ = team_.own().at(window_offset_);
    my_line().window.store(window_offset_, std::memory_order_relaxed);
    show_terms(false, work_.vote);
    phase_ = Phase::show;
    if (!has_window_) shown_ = work_.bytes;
    return true;
  }

  void show() {
    const std::size_t end = std::min(work_.bytes, shown_ + kShowBytes);
    if (has_window_) {
      share(shown_, end, [this](std::size_t from, std::size_t to) {
        gather_range(work_, from, to, window_ + from);
      });
    }
    shown_ = end;
    if (shown_ < work_.bytes) return;
    publish_in(1);
    phase_ = Phase::meet;
  }

  bool take_bearings() {
    if (!meet()) return false;
    aborted_ = vote_ == PlanVote::abort;
    phase_ = aborted_ ? Phase::finished : Phase::measure;
    for (int member = 0; member < n() && !aborted_; ++member) {
      bases_.push_back(window_of(member, window_bytes()));
    }
    return true;
  }

  void show_grams() {
    const auto grams = share_.grams();
    if (!grams.empty()) std::memcpy(window_ + grams_at_, grams.data(), grams.size_bytes());
    publish_in(2);
    phase_ = Phase::decide;
  }

  void decide() {
    std::vector<double> sums(share_.grams().size()), theirs(sums.size());
    for (const std::byte* base : bases_) {
      if (!sums.empty())
        std::memcpy(theirs.data(), base + grams_at_, theirs.size() * sizeof(double));
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += theirs[i];
    }
    share_.decide(sums);
    phase_ = Phase::combine;
  }

  void finish_share() {
    const std::size_t element = size_of(work_.dtype);
    if (needs_finish(work_)) {
      for (const adasum::Piece& piece : share_.pieces()) {
        finish_range(work_, window_ + piece.offset, window_ + piece.offset,
                     piece.elements * element);
      }
    }
    publish_out(1);
    phase_ = Phase::deliver;
  }

  // Delivers one member's slices at a time, beginning with its own, which are still in the cache.
  void deliver() {
    const int owner = (me() + delivered_) % n();
    const std::byte* result = bases_[static_cast<std::size_t>(owner)];
    for (const adasum::Piece& piece : pieces_of(owner)) {
      const std::size_t bytes = piece.elements * size_of(work_.dtype);
      scatter_range(work_, piece.offset, piece.offset + bytes, result + piece.offset);
    }
    if (++delivered_ == n()) phase_ = Phase::finished;
  }

  Step finish() {
    publish_done();
    if (has_window_) team_.retire_window(window_offset_, operation_);
    return Step::finished;
  }

  LocalReduction work_;
  const std::size_t grams_at_;              // in the window, behind the contribution
  adasum::Share share_;
  std::vector<const std::byte*> bases_;     // the members' windows
  Phase phase_ = Phase::begin;
  bool has_window_ = false, aborted_ = false;
  std::size_t shown_ = 0, window_offset_ = 0;
  int delivered_ = 0;                       // owners whose slices have been taken
  std::byte* window_ = nullptr;
};

}  // namespace

std::size_t local_adasum_extra(int members, std::size_t tensors) {
  return 64 + tensors * kernels::gram_size(static_cast<std::size_t>(members)) * sizeof(double);
}

std::unique_ptr<LocalCollective> make_local_adasum(LocalTurn turn, LocalReduction work) {
  return std::make_unique<LocalAdasum>(turn, std::move(work));
}

}  // namespace unisono::move
