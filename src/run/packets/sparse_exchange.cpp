// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Some elements: what the codec picks of all tensors is one sparse stream over the whole bucket,
// which goes through the algorithm with the least predicted time. Values are what the codec's form
// has left of them. Where the sum is dense and the codec quantises, the owners' sums do not travel
// in more bits than the values did.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/data/text.hpp"
#include "cost/sparse_algorithms.hpp"
#include "encode/packet/picks.hpp"
#include "kernels/kernels.hpp"
#include "kernels/pick/pick.hpp"
#include "move/sparse/sparse.hpp"
#include "run/packets/cut.hpp"
#include "run/select/sparse_trials.hpp"

namespace unisono::run {
namespace {

// The dense sums of an owner, quantised at random, and what that took from the sums of this member.
class QuantisedSums final : public move::GatherCodec {
 public:
  QuantisedSums(encode::ValueForm form, kernels::QuantiseKey key, int me)
      : form_(form), key_(key), me_(me) {}
  std::size_t bytes(std::size_t count) const override { return form_.bytes(count); }
  void encode(int owner, std::uint64_t offset, DType, const void* values, std::size_t count,
              std::span<std::byte> packed) override {
    kernels::QuantiseKey key = key_;
    key.owner = static_cast<std::uint32_t>(owner);
    const auto* sums = static_cast<const float*>(values);
    encode::write_values(form_, key, 0, {count, 0, count}, sums, packed.data());
    if (owner != me_) return;
    offset_ = offset;
    lost_.resize(count);
    encode::read_values(form_, {count, 0, count}, packed.data(), lost_.data());
    keep_difference(lost_.data(), sums, lost_.data(), count);
  }
  void decode(int, std::uint64_t, DType, std::span<const std::byte> packed, void* values,
              std::size_t count) override {
    encode::read_values(form_, {count, 0, count}, packed.data(), static_cast<float*>(values));
  }

  // Of elements from offset() on.
  std::span<const float> lost() const { return lost_; }
  std::uint64_t offset() const { return offset_; }

 private:
  const encode::ValueForm form_;
  const kernels::QuantiseKey key_;
  const int me_;
  std::uint64_t offset_ = 0;
  std::vector<float> lost_;
};

class SparseExchange final : public Exchange {
 public:
  using Exchange::Exchange;

  std::unique_ptr<move::CollectiveMachine> next() override {
    if (begun_) {
      write_sums();
      if (sums_ && work_.codec.feedback && !work_.codec.feedback_of_picks) keep_lost();
      return nullptr;
    }
    begun_ = true;
    pick();
    choose();
    if (work_.explanations != nullptr) {
      work_.explanations->set({.collective = work_.codec.text(),
                               .set = work_.set,
                               .dtype = std::string(name_of(DType::f32)),
                               .length = length(),
                               .elements = elements_,
                               .algorithm = algorithm_,
                               .reason = why_,
                               .candidates = trials_of(candidates_)});
    }
    move::SparseWork sparse{.dtype = DType::f32, .op = {}, .mine = mine_.view()};
    if (sums_) sparse.codec = sums_.get();
    return move::make_sparse_allreduce(algorithm_, work_.next_context(), std::move(sparse), out_);
  }
  std::string describe() const override {
    return cat("a sparse stream by ", algorithm_, sums_ ? " with quantised sums" : "", ": ", why_);
  }

 private:
  std::uint64_t length() const {
    std::uint64_t all = 0;
    for (const PackedTensor& tensor : work_.tensors) all += tensor.source.count;
    return all;
  }

  void pick() {
    mine_ = stream::Stream(DType::f32, length());
    std::vector<encode::Picks> picks(work_.tensors.size());
    std::size_t all = 0;
    for (std::size_t t = 0; t < picks.size(); ++t) {
      PackedTensor& tensor = work_.tensors[t];
      if (tensor.source.elements == nullptr) continue;
      encode::pick_elements(work_.codec, tensor.source, *tensor.memory, picks[t]);
      const std::size_t count = picks[t].indices.size();
      all += count;
      packed_bytes_ += picks[t].packed.size() + count * (picks[t].k != 0 ? 2 : 4);
    }
    const kernels::PairsOut room = mine_.make_room(all);
    std::size_t put = 0;
    std::uint64_t base = 0;
    for (std::size_t t = 0; t < picks.size(); ++t) {
      const std::vector<std::uint32_t>& indices = picks[t].indices;
      for (std::size_t i = 0; i < indices.size(); ++i) {
        if (room.wide != nullptr) {
          room.wide[put + i] = base + indices[i];
        } else {
          room.narrow[put + i] = static_cast<std::uint32_t>(base + indices[i]);
        }
      }
      if (!indices.empty()) {
        std::memcpy(static_cast<float*>(room.values) + put, picks[t].values.data(),
                    indices.size() * sizeof(float));
      }
      put += indices.size();
      base += work_.tensors[t].source.count;
    }
    mine_.keep(all);
  }

  // From what all members know: how many elements each of them picks where it has the tensors, once
  // it is warm; members whose states were loaded from elsewhere may not be equally warm. A threshold
  // says nothing about that.
  void choose() {
    if (work_.codec.pick == CodecPick::threshold) {
      algorithm_ = "ssar_split_allgather";
      why_ = "nobody knows beforehand how many elements pass a threshold";
      return;
    }
    double k = 0;
    for (const PackedTensor& tensor : work_.tensors) {
      const std::size_t count = tensor.source.count;
      const auto picks = encode::picks_at(work_.codec, work_.codec.bucket != 0 ? work_.codec.bucket
                                                                              : count,
                                          std::numeric_limits<std::uint32_t>::max());
      k += static_cast<double>(work_.codec.bucket == 0
                                   ? picks
                                   : kernels::bucket_picks(count, work_.codec.bucket, picks));
    }
    const encode::ValueForm form{work_.codec.form, work_.codec.bits};
    const bool quantises = work_.codec.form == CodecForm::qsgd;
    cost::SparseCase what;
    what.length = length();
    what.layout = work_.network != nullptr ? cost::layout_of(*work_.network, *work_.members)
                                           : cost::Layout{.n = work_.members->count()};
    what.count = cost::uniform_supports(what.length, k, work_.members->count());
    what.k = k;
    if (quantises) {
      what.gathered_bytes_per_value =
          static_cast<double>(form.bytes(kernels::kQuantiseBucket)) / kernels::kQuantiseBucket;
    }
    const cost::Costs costs = work_.measured ? work_.network->costs : cost::typical_costs();
    candidates_ = cost::choose_sparse(what, {.codec = quantises}, costs);
    elements_ = k;
    algorithm_ = std::string(candidates_.front().algorithm);
    why_ = cat("the shortest of ", candidates_.size(), " predictions for ", k, " of ", what.length,
               " elements on each of ", work_.members->count(), " ranks");
    if (quantises && algorithm_ == "dsar_split_allgather") {
      sums_ = std::make_unique<QuantisedSums>(form, key_of(work_.tensors.front(), 1),
                                              work_.members->me);
    }
  }

  void write_sums() {
    const stream::View view = out_.view();
    const auto* values = static_cast<const std::byte*>(view.pairs.values);
    std::uint64_t base = 0;
    std::size_t next = 0;
    for (const PackedTensor& tensor : work_.tensors) {
      const std::uint64_t end = base + tensor.source.count;
      if (view.dense) {
        std::memcpy(tensor.sum, values + base * sizeof(float), tensor.source.count * sizeof(float));
      } else {
        std::fill_n(tensor.sum, tensor.source.count, 0.0F);
        for (; next < view.nnz() && view.index(next) < end; ++next) {
          std::memcpy(tensor.sum + (view.index(next) - base), values + next * sizeof(float),
                      sizeof(float));
        }
      }
      base = end;
    }
  }

  // What quantising the sums took from those that this member owns.
  void keep_lost() {
    std::uint64_t base = 0;
    for (const PackedTensor& tensor : work_.tensors) {
      const std::uint64_t end = base + tensor.source.count;
      const std::uint64_t first = std::max(base, sums_->offset());
      const std::uint64_t last = std::min(end, sums_->offset() + sums_->lost().size());
      if (first < last && tensor.source.elements != nullptr) {
        kernels::reduce(DType::f32, ReduceOp::sum, tensor.memory->residual.data() + (first - base),
                        sums_->lost().data() + (first - sums_->offset()), last - first);
      }
      base = end;
    }
  }

  bool begun_ = false;
  stream::Stream mine_, out_;
  std::string algorithm_, why_;
  double elements_ = 0;                     // that each member is expected to pick
  std::vector<cost::SparseCandidate> candidates_;
  std::unique_ptr<QuantisedSums> sums_;
};

}  // namespace

std::unique_ptr<Exchange> make_sparse_exchange(ExchangeWork work) {
  return std::make_unique<SparseExchange>(std::move(work));
}

}  // namespace unisono::run
