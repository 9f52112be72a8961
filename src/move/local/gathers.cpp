// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Collectives that move without adding, and reducescatter. Each member shows in its window what
// others need, waits for theirs, and copies what it needs straight to where it belongs.
// Waits: 1. Bytes per member: copy in what others read, copy out what it receives. Whole windows
// are shown before anything is taken, so a member's death never leaves a half-written output.
#include <algorithm>

#include "base/check.hpp"
#include "move/local/machine.hpp"

namespace unisono::move {
namespace {

constexpr std::size_t kTakeBytes = 256 << 10;

// Shows `show_bytes` of this member, then takes copies from the others' windows.
class WindowReader : public LocalMachine {
 public:
  // only_from: the only member whose window this one reads; -1: it reads everybody's.
  WindowReader(const LocalTurn& turn, std::size_t show_bytes, int only_from = -1)
      : LocalMachine(turn), show_bytes_(show_bytes),
        only_from_(only_from == me() ? -1 : only_from) {}

  Step step() override {
    if (!started_ && !start()) return Step::waiting;
    if (shown_ < show_bytes_) {
      const std::size_t end = std::min(show_bytes_, shown_ + kTakeBytes);
      show(shown_, end);
      shown_ = end;
      if (shown_ == show_bytes_) publish_in(1);
      return Step::advanced;
    }
    if (!inputs_there()) return Step::waiting;
    if (!met_ && !(only_from_ < 0 ? meet() : meet(only_from_))) return Step::waiting;
    if (!take_some()) return Step::advanced;
    publish_done();
    if (window_ != nullptr) team_.retire_window(window_offset_, operation_);
    return Step::finished;
  }
  bool ready() const override {
    if (!started_) return may_start() && (show_bytes_ == 0 || team_.has_window(show_bytes_));
    return shown_ < show_bytes_ || (trouble_.ok() && inputs_there());
  }
  bool committed() const override {
    if (met_ || !started_ || shown_ < show_bytes_ || !inputs_there()) return met_;
    return only_from_ < 0 ? may_meet() : may_meet(only_from_);
  }

 protected:
  virtual void show(std::size_t begin, std::size_t end) = 0;
  // Copies one copy; true when nothing is left.
  virtual bool take_some() = 0;

  std::byte* window_ = nullptr;

 private:
  bool inputs_there() const {
    if (only_from_ < 0) return team_.all_in(at(1));
    return line_of(only_from_).in.load(std::memory_order_acquire) >= at(1);
  }
  bool start() {
    if (!may_start()) return false;
    show_terms(false, PlanVote::run);
    if (show_bytes_ > 0) {
      auto window = team_.take_window(show_bytes_);
      if (!window) trouble_ = window.status();
      if (!window || !window.value()) return false;
      window_offset_ = **window;
      window_ = team_.own().at(window_offset_);
      my_line().window.store(window_offset_, std::memory_order_relaxed);
    } else {
      my_line().window.store(0, std::memory_order_relaxed);
      publish_in(1);
    }
    started_ = true;
    return true;
  }

  const std::size_t show_bytes_;
  const int only_from_;
  bool started_ = false;
  std::size_t shown_ = 0, window_offset_ = 0;
};

std::size_t bytes_in(const std::vector<std::span<const std::byte>>& pieces) {
  std::size_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.size();
  return bytes;
}

// Shows pieces back to back and makes a list of copies; of its own only when it is one piece.
class CopyMachine final : public WindowReader {
 public:
  CopyMachine(const LocalTurn& turn, std::string_view what,
              std::vector<std::span<const std::byte>> mine, std::vector<LocalCopy> copies,
              int only_from = -1)
      : WindowReader(turn, bytes_in(mine), only_from), what_(what), mine_(std::move(mine)),
        copies_(std::move(copies)) {}

 private:
  std::string_view what() const override { return what_; }
  void show(std::size_t begin, std::size_t end) override {
    std::size_t at = 0;
    for (const auto& piece : mine_) {
      const std::size_t from = std::max(begin, at), to = std::min(end, at + piece.size());
      if (from < to) std::memcpy(window_ + from, piece.data() + (from - at), to - from);
      at += piece.size();
    }
  }
  bool take_some() override {
    while (next_ < copies_.size() && taken_ == copies_[next_].to.size()) {
      ++next_;
      taken_ = 0;
    }
    if (next_ == copies_.size()) return true;
    const LocalCopy& copy = copies_[next_];
    const std::size_t bytes = std::min(kTakeBytes, copy.to.size() - taken_);
    const std::byte* from =
        copy.member == me() ? mine_.front().data() + copy.from
                            : window_of(copy.member, copy.from + copy.to.size()) + copy.from;
    std::memcpy(copy.to.data() + taken_, from + taken_, bytes);
    taken_ += bytes;
    return false;
  }

  std::string_view what_;
  std::vector<std::span<const std::byte>> mine_;
  std::vector<LocalCopy> copies_;
  std::size_t next_ = 0, taken_ = 0;
};

class Reducescatter final : public WindowReader {
 public:
  Reducescatter(const LocalTurn& turn, LocalReduction work, const Extents& counts,
                std::span<std::byte> out)
      : WindowReader(turn, work.bytes), work_(std::move(work)), out_(out) {
    for (int j = 0; j < me(); ++j) mine_begin_ += counts[static_cast<std::size_t>(j)];
  }

 private:
  std::string_view what() const override { return "reducescatter"; }
  void show(std::size_t begin, std::size_t end) override {
    gather_range(work_, begin, end, window_ + begin);
  }
  bool take_some() override {
    const std::size_t element = size_of(work_.dtype);
    const std::size_t out_element = work_.partials ? sizeof(float) : element;
    const std::size_t all = out_.size() / out_element;
    const std::size_t count = std::min(kTakeBytes / element, all - reduced_);
    if (count > 0) {
      kernels::Operand inputs[arena::kMembersMax];
      for (int member = 0; member < n(); ++member) {
        inputs[member] = {window_of(member, work_.bytes) + mine_begin_ + reduced_ * element};
      }
      std::byte* out = out_.data() + reduced_ * out_element;
      kernels::reduce_partials(work_.dtype, work_.op, out, work_.partials,
                               {inputs, static_cast<std::size_t>(n())}, count);
      if (needs_finish(work_)) finish_range(work_, out, out, count * element);
    }
    reduced_ += count;
    return reduced_ == all;
  }

  LocalReduction work_;
  std::span<std::byte> out_;
  std::size_t mine_begin_ = 0;              // in bytes
  std::size_t reduced_ = 0;                 // elements
};

class Barrier final : public LocalMachine {
 public:
  using LocalMachine::LocalMachine;
  Step step() override {
    if (!shown_) {
      if (!may_start()) return Step::waiting;
      show_terms(false, PlanVote::run);
      publish_in(1);
      shown_ = true;
    }
    if (!team_.all_in(at(1)) || !meet()) return Step::waiting;
    publish_done();
    return Step::finished;
  }
  bool ready() const override {
    return shown_ ? trouble_.ok() && team_.all_in(at(1)) : may_start();
  }
  bool committed() const override { return shown_ && team_.all_in(at(1)) && may_meet(); }

 private:
  std::string_view what() const override { return "barrier"; }
  bool shown_ = false;
};

}  // namespace

std::unique_ptr<LocalCollective> make_local_allgather(LocalTurn turn,
                                                      std::span<const std::byte> mine,
                                                      Extents counts, std::span<std::byte> out) {
  std::vector<LocalCopy> copies;
  std::size_t place = 0;
  for (int member = 0; member < turn.team.n(); ++member) {
    const std::size_t bytes = counts[static_cast<std::size_t>(member)];
    copies.push_back({member, 0, out.subspan(place, bytes)});
    place += bytes;
  }
  // Everyone begins with its own part, so that not all read the same member's memory at once.
  std::rotate(copies.begin(), copies.begin() + turn.team.me(), copies.end());
  return std::make_unique<CopyMachine>(turn, "allgather", std::vector{mine}, std::move(copies));
}

std::unique_ptr<LocalCollective> make_local_broadcast(LocalTurn turn, int root,
                                                      std::span<const std::byte> source,
                                                      std::span<std::byte> target) {
  const bool mine = root == turn.team.me();
  std::vector<LocalCopy> copies;
  const bool elsewhere = !target.empty() && target.data() != source.data();
  if (elsewhere || !mine) copies.push_back({root, 0, target});
  return std::make_unique<CopyMachine>(
      turn, "broadcast", std::vector{mine ? source : std::span<const std::byte>()},
      std::move(copies), root);
}

std::unique_ptr<LocalCollective> make_local_alltoall(LocalTurn turn,
                                                     std::span<const std::byte> in,
                                                     std::vector<std::size_t> matrix,
                                                     std::span<std::byte> out) {
  const auto n = static_cast<std::size_t>(turn.team.n());
  const auto me = static_cast<std::size_t>(turn.team.me());
  std::vector<LocalCopy> copies;
  std::size_t place = 0;
  for (std::size_t sender = 0; sender < n; ++sender) {
    std::size_t from = 0;
    for (std::size_t receiver = 0; receiver < me; ++receiver) from += matrix[sender * n + receiver];
    const std::size_t bytes = matrix[sender * n + me];
    copies.push_back({static_cast<int>(sender), from, out.subspan(place, bytes)});
    place += bytes;
  }
  std::rotate(copies.begin(), copies.begin() + turn.team.me(), copies.end());
  return std::make_unique<CopyMachine>(turn, "alltoall", std::vector{in}, std::move(copies));
}

std::unique_ptr<LocalCollective> make_local_reducescatter(LocalTurn turn, LocalReduction work,
                                                          Extents counts,
                                                          std::span<std::byte> out) {
  return std::make_unique<Reducescatter>(turn, std::move(work), counts, out);
}

std::unique_ptr<LocalCollective> make_local_copies(LocalTurn turn,
                                                   std::vector<std::span<const std::byte>> shown,
                                                   std::vector<LocalCopy> wanted) {
  return std::make_unique<CopyMachine>(turn, "copies", std::move(shown), std::move(wanted));
}

std::unique_ptr<LocalCollective> make_local_barrier(LocalTurn turn) {
  return std::make_unique<Barrier>(turn);
}

}  // namespace unisono::move
