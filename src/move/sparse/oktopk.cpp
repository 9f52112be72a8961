// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// sparse allreduce, oktopk: as ssar_split_allgather, but of what the owners have reduced only the k
// elements of the largest magnitude are gathered, so that the result does not grow with n. Lossy:
// what a caller does not find in the result it keeps for the next time.
// Which elements those are is found exactly, by counting magnitudes in three rounds of 11, 11 and 9
// bits of their float32; of equal ones the lowest indices are kept. The threshold is then used for
// the next steps as it is, without counting, until it is old or the result is no longer between
// half of k and twice k.
// Steps: 2, three more when the threshold is found. Bytes sent per member: (n-1)/n of its stream,
// and n-1 times its part of k elements; with the threshold 3 (n-1) times 8 KiB more. Wins with many
// members whose streams have little in common.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/data/text.hpp"
#include "kernels/kernels.hpp"
#include "move/sparse/algorithms.hpp"
#include "move/sparse/split.hpp"

namespace unisono::move {

namespace {

// The bits of a magnitude as float32, which are in its order, by round.
struct Digit {
  unsigned shift, bits;
};
constexpr std::array<Digit, 3> kDigits = {Digit{20, 11}, Digit{9, 11}, Digit{0, 9}};
constexpr std::size_t kBins = 2048;
using Histogram = std::array<std::uint32_t, kBins>;

std::vector<std::uint32_t> magnitudes_of(const stream::View& view) {
  std::vector<float> values(view.nnz());
  kernels::cast(DType::f32, values.data(), view.dtype(), view.pairs.values, view.nnz());
  std::vector<std::uint32_t> out(values.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFFu;
  }
  return out;
}

class Oktopk final : public SparseMachine {
 public:
  Oktopk(MoveContext context, SparseWork work, stream::Stream& out)
      : SparseMachine("sparse_allreduce/oktopk", context, std::move(work), out),
        estimates_(work_.memory == nullptr || work_.memory->off ||
                   work_.memory->steps - work_.memory->estimated_at >= work_.reestimate_every),
        k_(work_.k) {}

 private:
  enum class Stage : std::uint8_t { survey, split, counting, gather };

  bool proceed() override {
    if (stage_ == Stage::survey) {
      if (!agree()) return false;
      next(Stage::split);
    }
    if (stage_ == Stage::split) {
      if (!split_->advance(pass_, trouble_)) return false;
      slice_ = split_->sum().take(work_.dtype);
      slice_.sparsify(work_.op);            // what only fills up a dense one is no element
      magnitudes_ = magnitudes_of(slice_.view());
      if (!estimates_) threshold_ = std::bit_cast<std::uint32_t>(work_.memory->threshold);
      next(Stage::counting);
    }
    if (stage_ == Stage::counting) {
      if (estimates_ && !find_threshold()) return false;
      const stream::Stream kept = selected();
      gather_.emplace(context_, work_, split_->cuts(), packed(kept.view(), split_->begin()));
      next(Stage::gather);
    }
    if (!gather_->advance(pass_, trouble_)) return false;
    finish_with(gather_->concatenated());
    remember();
    return true;
  }

  void next(Stage stage) {
    stage_ = stage;
    pass_.moved = true;
  }

  // Cuts, and k where nobody said it: the most that a member has.
  bool agree() {
    const int n = context_.n();
    if ((work_.balanced || k_ == 0) && !survey_) {
      survey_.emplace(context_, Phase::round, sizeof(SurveyAnswer));
      const SurveyAnswer mine = survey_answer(work_.mine);
      std::memcpy(survey_->mine().data(), &mine, sizeof mine);
    }
    Cuts cuts = even_cuts(length(), n);
    if (survey_) {
      if (!survey_->advance(pass_)) return false;
      std::vector<SurveyAnswer> answers(static_cast<std::size_t>(n));
      for (int p = 0; p < n; ++p) {
        SurveyAnswer& answer = answers[static_cast<std::size_t>(p)];
        std::memcpy(&answer, survey_->of(p).data(), sizeof answer);
        if (work_.k == 0) k_ = std::max(k_, answer.nnz);
      }
      if (work_.balanced) cuts = balanced_cuts(length(), answers);
    }
    split_.emplace(context_, work_, std::move(cuts));
    return true;
  }

  // One digit after the other; afterwards keeps all magnitudes above threshold_, and ties_kept_ of
  // those equal to it.
  bool find_threshold() {
    for (; digit_ < kDigits.size(); ++digit_) {
      if (!counts_) begin_counting();
      if (!counts_->advance(pass_)) return false;
      take_digit();
      counts_.reset();
      pass_.moved = true;
    }
    return true;
  }

  void begin_counting() {
    const Digit digit = kDigits[digit_];
    counts_.emplace(context_, channel_phase(static_cast<unsigned>(3 + digit_)), sizeof(Histogram));
    Histogram mine{};
    for (const std::uint32_t magnitude : magnitudes_) {
      const unsigned known = digit.shift + digit.bits;
      if (known < 31 && (magnitude >> known) != (threshold_ >> known)) continue;
      ++mine[(magnitude >> digit.shift) & ((1u << digit.bits) - 1)];
    }
    std::memcpy(counts_->mine().data(), mine.data(), sizeof mine);
  }

  void take_digit() {
    const int n = context_.n();
    std::vector<Histogram> all(static_cast<std::size_t>(n));
    std::array<std::uint64_t, kBins> sum{};
    for (int p = 0; p < n; ++p) {
      Histogram& one = all[static_cast<std::size_t>(p)];
      std::memcpy(one.data(), counts_->of(p).data(), sizeof one);
      for (std::size_t bin = 0; bin < kBins; ++bin) sum[bin] += one[bin];
    }
    // Everything above the bin is kept; the k-th largest is inside. Bin 0 if there are fewer.
    std::size_t bin = kBins - 1;
    while (bin > 0 && above_ + sum[bin] < k_) above_ += sum[bin--];
    threshold_ |= static_cast<std::uint32_t>(bin) << kDigits[digit_].shift;
    // Owners are in the order of their indices, so the first ones keep their ties.
    std::uint64_t wanted = k_ - std::min(above_, k_);
    for (int p = 0; p < context_.me(); ++p) {
      wanted -= std::min<std::uint64_t>(wanted, all[static_cast<std::size_t>(p)][bin]);
    }
    ties_kept_ = wanted;
  }

  stream::Stream selected() {
    const stream::View view = slice_.view();
    stream::Stream out(work_.dtype, slice_.length());
    const kernels::PairsOut room = out.make_room(view.nnz());
    const std::size_t width = size_of(work_.dtype);
    const auto* from = static_cast<const std::byte*>(view.pairs.values);
    std::size_t count = 0;
    for (std::size_t i = 0; i < view.nnz(); ++i) {
      if (magnitudes_[i] < threshold_) continue;
      if (estimates_ && magnitudes_[i] == threshold_) {
        if (ties_kept_ == 0) continue;
        --ties_kept_;
      }
      if (room.wide != nullptr) room.wide[count] = view.index(i);
      else room.narrow[count] = static_cast<std::uint32_t>(view.index(i));
      std::memcpy(static_cast<std::byte*>(room.values) + count * width, from + i * width, width);
      ++count;
    }
    out.keep(count);
    return out;
  }

  void remember() {
    TopkMemory* const memory = work_.memory;
    if (memory == nullptr) return;
    std::uint64_t found = 0;
    for (int p = 0; p < context_.n(); ++p) found += gather_->view(p).nnz();
    if (estimates_) {
      memory->threshold = std::bit_cast<float>(threshold_);
      memory->estimated_at = memory->steps;
    }
    ++memory->steps;
    memory->off = found > 2 * k_ || 2 * found < k_;
  }

  void add_pending(OpenTransfer& pending) const override {
    if (survey_) survey_->add_pending(pending);
    if (split_) split_->add_pending(pending);
    if (counts_) counts_->add_pending(pending);
    if (gather_) gather_->add_pending(pending);
  }
  std::string phase() const override {
    switch (stage_) {
      case Stage::survey: return "how many elements the others have";
      case Stage::split: return split_->phase();
      case Stage::counting: return cat("digit ", digit_ + 1, " of the threshold");
      case Stage::gather: break;
    }
    return "the owners' largest elements";
  }

  const bool estimates_;
  std::uint64_t k_;
  Stage stage_ = Stage::survey;
  std::optional<TellAll> survey_;
  std::optional<SplitReduction> split_;
  stream::Stream slice_;
  std::vector<std::uint32_t> magnitudes_;
  std::size_t digit_ = 0;
  std::optional<TellAll> counts_;
  std::uint32_t threshold_ = 0;
  std::uint64_t above_ = 0, ties_kept_ = 0;
  std::optional<PacketGather> gather_;
};

}  // namespace

MadeMachine make_oktopk(MoveContext context, SparseWork work, stream::Stream& out) {
  return std::make_unique<Oktopk>(context, std::move(work), out);
}

}  // namespace unisono::move
