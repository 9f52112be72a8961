// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/sparse/split.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "base/data/text.hpp"
#include "kernels/kernels.hpp"
#include "move/message/patterns.hpp"

namespace unisono::move {

Cuts even_cuts(std::uint64_t length, int members) {
  Cuts cuts;
  const auto n = static_cast<std::uint64_t>(members);
  // length * p / n without its overflow.
  for (std::uint64_t p = 0; p <= n; ++p) cuts.push_back(length / n * p + length % n * p / n);
  return cuts;
}

SurveyAnswer survey_answer(const stream::View& view) {
  SurveyAnswer answer;
  answer.nnz = view.nnz();
  for (std::size_t i = 0; i < kSurveySamples && view.nnz() > 0; ++i) {
    // The middle of each of equally many runs of elements.
    const std::size_t whole = view.nnz() / kSurveySamples, rest = view.nnz() % kSurveySamples;
    const std::size_t at = whole * i + rest * i / kSurveySamples + whole / 2;
    answer.samples[i] = view.index(std::min(at, view.nnz() - 1));
  }
  return answer;
}

Cuts balanced_cuts(std::uint64_t length, std::span<const SurveyAnswer> answers) {
  struct Sample {
    std::uint64_t index, weight;
  };
  std::vector<Sample> samples;
  std::uint64_t total = 0;
  for (const SurveyAnswer& answer : answers) {
    for (const std::uint64_t index : answer.samples) {
      if (answer.nnz == 0) continue;
      // What another rank says is not trusted to lie inside.
      samples.push_back({std::min(index, length > 0 ? length - 1 : 0), answer.nnz});
      total += answer.nnz;
    }
  }
  const std::uint64_t n = answers.size();
  if (total == 0) return even_cuts(length, static_cast<int>(n));
  std::sort(samples.begin(), samples.end(),
            [](const Sample& a, const Sample& b) { return a.index < b.index; });
  Cuts cuts{0};
  std::uint64_t passed = 0;
  std::size_t next = 0;
  for (std::uint64_t p = 1; p < n; ++p) {
    const std::uint64_t target = total / n * p + total % n * p / n;
    std::uint64_t cut = cuts.back();
    while (next < samples.size() && passed + samples[next].weight <= target) {
      passed += samples[next].weight;
      cut = samples[next].index + 1;
      ++next;
    }
    cuts.push_back(std::max(cut, cuts.back()));
  }
  cuts.push_back(length);
  return cuts;
}

TellAll::TellAll(const MoveContext& context, Phase phase, std::size_t bytes)
    : me_(context.me()), each_(bytes), bytes_(static_cast<std::size_t>(context.n()) * bytes) {
  for (int d = 1; d < context.n(); ++d) {
    streams_.emplace_back(context, patterns::wrap(context.me() + d, context.n()), phase)
        .send_from(mine());
    const int from = patterns::wrap(context.me() - d, context.n());
    streams_.emplace_back(context, from, phase).receive_into(of(from));
  }
}

bool TellAll::advance(Pass& pass) {
  bool done = true;
  for (auto& one : streams_) {
    one.advance(pass);
    done = done && one.finished();
  }
  return done;
}

void TellAll::add_pending(OpenTransfer& pending) const {
  for (const auto& one : streams_) one.add_pending(pending);
}

SplitReduction::SplitReduction(const MoveContext& context, const SparseWork& work, Cuts cuts,
                               unsigned channel)
    : work_(&work), me_(static_cast<std::size_t>(context.me())), cuts_(std::move(cuts)),
      source_(static_cast<std::size_t>(context.n())) {
  const int n = context.n();
  stream::Expected expected{work.dtype, work.op.working_dtype(work.dtype), work.op, begin(),
                            end() - begin(), work.sequence};
  // Starting with the next member spreads the first messages over all owners. Nobody owns nothing.
  for (int d = 1; d < n; ++d) {
    const int to = patterns::wrap(context.me() + d, n);
    const std::uint64_t first = cuts_[static_cast<std::size_t>(to)];
    const std::uint64_t last = cuts_[static_cast<std::size_t>(to) + 1];
    if (first < last) {
      exchange_.sends.emplace_back(
          context, to, channel,
          std::make_shared<const stream::Packet>(stream::write_packet(
              work.mine.slice(first, last), work.op, first, work.sequence)));
    }
    const int from = patterns::wrap(context.me() - d, n);
    if (begin() == end()) continue;
    source_[static_cast<std::size_t>(from)] = exchange_.receives.size();
    exchange_.receives.emplace_back(context, from, channel, expected);
  }
  SegmentSum::Shape shape{work.dtype, end() - begin(), work.dense_multiplier, 0};
  shape.expected_nnz = work.mine.slice(begin(), end()).nnz() * static_cast<std::uint64_t>(n);
  sum_.emplace(work.op, shape);
}

bool SplitReduction::advance(Pass& pass, Status& trouble) {
  const bool moved = exchange_.advance(pass, trouble);
  if (pass.failed || !trouble.ok()) return false;
  while (reduced_ < source_.size()) {
    if (begin() == end()) {
      reduced_ = source_.size();
    } else if (reduced_ == me_) {
      sum_->add(work_->mine.slice(begin(), end()));
      ++reduced_;
    } else {
      const PacketReceiver& from = exchange_.receives[source_[reduced_]];
      if (!from.finished()) return false;
      sum_->add(from.view());
      ++reduced_;
    }
    pass.moved = true;
  }
  return moved;
}

std::string SplitReduction::phase() const {
  return cat(reduced_, " of ", source_.size(), " contributions reduced");
}

PacketGather::PacketGather(const MoveContext& context, const SparseWork& work, Cuts cuts,
                           SharedPacket mine, unsigned channel)
    : work_(&work), me_(context.me()), cuts_(std::move(cuts)), mine_(std::move(mine)),
      source_(static_cast<std::size_t>(context.n())) {
  begin(context, channel);
}

PacketGather::PacketGather(const MoveContext& context, const SparseWork& work, SharedPacket mine,
                           unsigned channel)
    : PacketGather(context, work, Cuts{}, std::move(mine), channel) {}

std::uint64_t PacketGather::offset_of(int member) const {
  return cuts_.empty() ? 0 : cuts_[static_cast<std::size_t>(member)];
}

std::uint64_t PacketGather::length_of(int member) const {
  return cuts_.empty() ? work_->length()
                       : cuts_[static_cast<std::size_t>(member) + 1] - offset_of(member);
}

void PacketGather::begin(const MoveContext& context, unsigned channel) {
  // A member that owns nothing has nothing to tell.
  for (int d = 1; d < context.n(); ++d) {
    const int to = patterns::wrap(me_ + d, context.n());
    const int from = patterns::wrap(me_ - d, context.n());
    if (length_of(me_) > 0) exchange_.sends.emplace_back(context, to, channel, mine_);
    if (length_of(from) == 0) continue;
    source_[static_cast<std::size_t>(from)] = exchange_.receives.size();
    // Contributions may be partials; results have been rounded.
    const DType partial = cuts_.empty() ? work_->op.working_dtype(work_->dtype) : work_->dtype;
    exchange_.receives.emplace_back(
        context, from, channel,
        stream::Expected{work_->dtype, partial, work_->op, offset_of(from), length_of(from),
                         work_->sequence});
  }
  own_.length = length_of(me_);
  own_.pairs.dtype = work_->dtype;
  if (own_.length == 0) return;
  const stream::Expected mine{work_->dtype, work_->op.working_dtype(work_->dtype), work_->op,
                              offset_of(me_), length_of(me_), work_->sequence};
  const auto header = stream::read_header(mine_->header, mine);
  UNISONO_CHECK(header.ok());
  const auto view = stream::read_payload(header.value(), mine_->payload, scratch_);
  UNISONO_CHECK(view.ok());
  own_ = view.value();
}

stream::View PacketGather::view(int member) const {
  if (member == me_ || length_of(member) == 0) {
    stream::View out = own_;
    if (member != me_) {
      out = {};
      out.pairs.dtype = work_->dtype;
    }
    return out;
  }
  return exchange_.receives[source_[static_cast<std::size_t>(member)]].view();
}

stream::Stream PacketGather::concatenated() const {
  std::vector<stream::View> views;
  for (int member = 0; member < static_cast<int>(source_.size()); ++member) {
    views.push_back(view(member));
  }
  return move::concatenated(*work_, cuts_, views);
}

stream::Stream concatenated(const SparseWork& work, const Cuts& cuts,
                            std::span<const stream::View> views) {
  const std::uint64_t width = size_of(work.dtype);
  std::size_t total = 0;
  bool dense = false;
  for (const stream::View& view : views) {
    total += view.nnz();
    dense = dense || view.dense;
  }
  stream::Stream out(work.dtype, work.length());
  if (dense || kept_dense(work.length(), total, width, work.dense_multiplier)) {
    std::byte* to = out.make_dense();
    for (std::size_t p = 0; p < views.size(); ++p) {
      stream::Stream part = stream::Stream::copy_of(views[p]);
      part.densify(work.op);
      if (!part.values().empty()) {
        std::memcpy(to + cuts[p] * width, part.values().data(), part.values().size());
      }
    }
    return out;
  }
  const kernels::PairsOut room = out.make_room(total);
  std::size_t count = 0;
  for (std::size_t p = 0; p < views.size(); ++p) {
    for (std::size_t i = 0; i < views[p].nnz(); ++i) {
      const std::uint64_t index = cuts[p] + views[p].index(i);
      if (room.wide != nullptr) room.wide[count + i] = index;
      else room.narrow[count + i] = static_cast<std::uint32_t>(index);
    }
    if (views[p].nnz() > 0) {
      std::memcpy(static_cast<std::byte*>(room.values) + count * width, views[p].pairs.values,
                  views[p].nnz() * width);
    }
    count += views[p].nnz();
  }
  return out;
}

}  // namespace unisono::move
