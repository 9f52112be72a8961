// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The parts of algorithms that give every member a slice of the indices to own: where slices are
// cut, how contributions come to their owner and are reduced there in member order, and how the
// owners' results come to everybody.
// Thread: the one that drives the engine.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "move/sparse/machine.hpp"
#include "move/sparse/segment_sum.hpp"

namespace unisono::move {

// Member p owns [cuts[p], cuts[p + 1]).
using Cuts = std::vector<std::uint64_t>;
Cuts even_cuts(std::uint64_t length, int members);

// What each member tells all others before anything is cut: how many elements it has, and where
// some of them are, evenly spread among its own.
inline constexpr std::size_t kSurveySamples = 32;
struct SurveyAnswer {
  std::uint64_t nnz = 0;
  std::array<std::uint64_t, kSurveySamples> samples{};
};
SurveyAnswer survey_answer(const stream::View& view);
// Cuts that give every member about equally many elements. Pure: all members cut alike.
Cuts balanced_cuts(std::uint64_t length, std::span<const SurveyAnswer> answers);

// The reduced segments one after the other.
stream::Stream concatenated(const SparseWork& work, const Cuts& cuts,
                            std::span<const stream::View> views);

// Everybody tells everybody a few bytes, as many as everybody else.
class TellAll {
 public:
  TellAll(const MoveContext& context, Phase phase, std::size_t bytes);
  // Before the first advance.
  std::span<std::byte> mine() { return of(me_); }
  std::span<std::byte> of(int member) {
    return std::span(bytes_).subspan(static_cast<std::size_t>(member) * each_, each_);
  }
  bool advance(Pass& pass);                 // true when all are known
  void add_pending(OpenTransfer& pending) const;

 private:
  const int me_;
  const std::size_t each_;
  std::vector<std::byte> bytes_;
  std::deque<SegmentStream> streams_;
};

// Sends slices to their owners and reduces the own one.
class SplitReduction {
 public:
  SplitReduction(const MoveContext& context, const SparseWork& work, Cuts cuts,
                 unsigned channel = 0);

  bool advance(Pass& pass, Status& trouble); // true when reduced and everything has left
  SegmentSum& sum() { return *sum_; }
  const Cuts& cuts() const { return cuts_; }
  std::uint64_t begin() const { return cuts_[me_]; }
  std::uint64_t end() const { return cuts_[me_ + 1]; }
  void add_pending(OpenTransfer& pending) const { exchange_.add_pending(pending); }
  std::string phase() const;

 private:
  const SparseWork* const work_;
  const std::size_t me_;
  const Cuts cuts_;
  PacketExchange exchange_;
  std::optional<SegmentSum> sum_;
  std::vector<std::size_t> source_;         // by member: its receiver
  std::size_t reduced_ = 0;                 // members
};

// Everybody's packet to everybody.
class PacketGather {
 public:
  // cuts: which segment each member's packet is about.
  PacketGather(const MoveContext& context, const SparseWork& work, Cuts cuts, SharedPacket mine,
               unsigned channel = 1);
  // The same where every packet is about the whole.
  PacketGather(const MoveContext& context, const SparseWork& work, SharedPacket mine,
               unsigned channel = 1);

  bool advance(Pass& pass, Status& trouble) { return exchange_.advance(pass, trouble); }
  // Once finished; what this member sent counts as it was sent.
  stream::View view(int member) const;
  // The segments one after the other.
  stream::Stream concatenated() const;
  void add_pending(OpenTransfer& pending) const { exchange_.add_pending(pending); }

 private:
  void begin(const MoveContext& context, unsigned channel);
  std::uint64_t offset_of(int member) const;
  std::uint64_t length_of(int member) const;

  const SparseWork* const work_;
  const int me_;
  const Cuts cuts_;                         // empty: every packet is about the whole
  const SharedPacket mine_;
  stream::Scratch scratch_;
  stream::View own_;
  PacketExchange exchange_;
  std::vector<std::size_t> source_;         // by member: its receiver
};

}  // namespace unisono::move
