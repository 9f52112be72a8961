// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// An allreduce by a codec that is no cast. First the members agree which tensors hold nothing but
// numbers everywhere; only those are encoded, and the result of another is NaN on every member,
// with nothing of what its codec keeps touched. Outputs are written at the end, so a failure leaves
// them as they were.
#include <algorithm>
#include <deque>
#include <limits>
#include <new>

#include "base/data/text.hpp"
#include "kernels/kernels.hpp"
#include "model/codec/rules.hpp"
#include "run/kinds/kinds.hpp"
#include "run/packets/exchange.hpp"

namespace unisono::run {
namespace {

class PacketRun final : public BucketRun {
 public:
  PacketRun(RunParts parts, const CodecSpec& codec)
      : BucketRun(std::move(parts.bucket), std::move(parts.pendings), parts.context),
        codec_(codec) {}

  // Claims are left where it failed on the way.
  ~PacketRun() override { codec_memory().give_back(claims_); }

  Status start() override {
    std::size_t elements = 0;
    for (Tensor& tensor : tensors_) {
      tensor.out_shape = tensor.request->shape;
      tensor.out_count = static_cast<std::size_t>(tensor.request->elements());
      tensor.offset = elements;
      elements += tensor.out_count;
      if (tensor.absent() || tensor.pending.output != nullptr) continue;
      if (auto status = own_result(tensor, tensor.request->bytes()); !status) return status;
    }
    if (auto status = take_buffer(sums_, elements * sizeof(float)); !status) return status;
    // The lowest member that holds something else, or n.
    for (const Tensor& tensor : tensors_) {
      suspects_.push_back(encode::all_finite(source_of(tensor)) ? context_.members->count()
                                                                : context_.members->me);
    }
    machine_ = move::make_allreduce("recursive_doubling", next_context(), DType::i32, ReduceOp::min,
                                    std::as_writable_bytes(std::span(suspects_)));
    return {};
  }

  // Machines are stepped by the driver; what happens to the tensors between them is a step of its
  // own, so that buckets of other channels may go on meanwhile.
  move::Step step() override {
    if (!trouble_.ok()) return move::Step::waiting;
    if (computes_) return compute();
    if (following_ != nullptr) machine_ = std::move(following_);
    const move::Step step = machine_->step();
    if (step != move::Step::finished) return step;
    computes_ = true;
    return move::Step::advanced;
  }
  bool computes() const override { return computes_ && trouble_.ok(); }
  bool ready() const override {
    return computes() || following_ != nullptr || BucketRun::ready();
  }

  const Status& trouble() const override {
    return trouble_.ok() ? BucketRun::trouble() : trouble_;
  }

  std::size_t emulated_bytes() const override {
    std::size_t bytes = 0;
    for (const Tensor& tensor : tensors_) bytes += packed_size(codec_, tensor.request->shape);
    return bytes;
  }

 private:
  move::Step compute() {
    computes_ = false;
    try {
      following_ = next_machine();
      if (following_ == nullptr) return move::Step::finished;
    } catch (const std::bad_alloc&) {
      trouble_ = Status(Code::out_of_memory,
                        cat("no memory to encode '", tensors_.front().request->name, "' by '",
                            codec_.text(), "'; free memory on this host or lower fusion_bytes"));
    }
    return move::Step::advanced;
  }

  encode::Source source_of(const Tensor& tensor) const {
    return {.tensor = tensor.request->name, .dtype = bucket_.dtype,
            .elements = tensor.absent() ? nullptr : tensor.pending.input, .count = tensor.out_count,
            .shape = tensor.request->shape, .prescale = tensor.request->prescale,
            .owner = static_cast<std::uint32_t>(context_.members->rank_of(context_.members->me))};
  }
  bool skipped(std::size_t index) const { return suspects_[index] < context_.members->count(); }
  float* sum_of(const Tensor& tensor) const {
    return reinterpret_cast<float*>(sums_.memory.get()) + tensor.offset;
  }

  std::unique_ptr<move::CollectiveMachine> next_machine() {
    if (exchange_ == nullptr) begin_exchange(codec_memory());
    if (exchange_ == nullptr) return nullptr;
    auto machine = exchange_->next();
    if (machine == nullptr) finish_exchange(codec_memory());
    return machine;
  }

  encode::CodecMemory& codec_memory() {
    return context_.codecs != nullptr ? *context_.codecs : own_memory_;
  }

  void begin_exchange(encode::CodecMemory& memory) {
    ExchangeWork work{.codec = codec_, .tensors = {},
                      .next_context = [this] { return next_context(); },
                      .algorithm = algorithm_of(*context_.options), .network = context_.network,
                      .measured = context_.network != nullptr && context_.network->usable &&
                                  !context_.options->deterministic,
                      .members = context_.members, .explanations = context_.explanations,
                      .set = bucket_.set};
    done_.codec = codec_.text();
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Tensor& tensor = tensors_[i];
      if (skipped(i)) ++done_.skipped;
      if (skipped(i) || tensor.out_count == 0) continue;
      // A name that never comes again keeps nothing.
      encode::TensorMemory* kept = nullptr;
      if (is_made_up(tensor.request->name)) {
        kept = &forgotten_.emplace_back();
      } else {
        claims_.push_back(memory.claim(encode::kept_name(bucket_.set, tensor.request->name)));
        kept = claims_.back().memory;
      }
      work.tensors.push_back({source_of(tensor), kept, sum_of(tensor)});
      memories_.push_back(work.tensors.back().memory);
      done_.bytes += tensor.request->bytes();
    }
    if (work.tensors.empty()) return memory.note(done_);
    exchange_ = make_exchange(std::move(work));
  }

  void finish_exchange(encode::CodecMemory& memory) {
    // Everywhere alike, also where a rank has joined: what is picked later depends on it.
    for (encode::TensorMemory* each : memories_) ++each->steps;
    done_.tensors = memories_.size();
    done_.packed_bytes = exchange_->packed_bytes();
    done_.exchange = exchange_->describe();
    memory.note(done_, codec_.feedback ? claims_ : std::vector<encode::CodecMemory::Claim>());
    // Before anybody hears that it is done: who does may save what is kept.
    memory.give_back(claims_);
    claims_.clear();
  }

  void deliver() override {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Tensor& tensor = tensors_[i];
      if (tensor.absent() || tensor.out_count == 0) continue;
      float* sum = sum_of(tensor);
      if (skipped(i)) {
        std::fill_n(sum, tensor.out_count, std::numeric_limits<float>::quiet_NaN());
      } else {
        const std::int64_t divided = bucket_.op == ReduceOp::average ? divisor(tensor) : 1;
        kernels::finish(DType::f32, divided, tensor.request->postscale, sum, sum, tensor.out_count);
      }
      kernels::cast(bucket_.dtype, output_of(tensor), DType::f32, sum, tensor.out_count);
    }
  }
  void give_buffers_back() override { context_.buffers->give_back(std::move(sums_)); }

  const CodecSpec codec_;
  std::vector<std::int32_t> suspects_;      // by tensor
  BufferPool::Buffer sums_;
  encode::CodecMemory own_memory_;          // where the engine has none
  std::vector<encode::TensorMemory*> memories_;
  std::deque<encode::TensorMemory> forgotten_;
  std::vector<encode::CodecMemory::Claim> claims_;  // on what is kept, until the sums are there
  CodecReport done_;
  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<move::CollectiveMachine> following_;  // until the driver takes it
  bool computes_ = false;
  Status trouble_;
};

}  // namespace

std::unique_ptr<BucketRun> make_packet_run(RunParts parts, const CodecSpec& codec) {
  return std::make_unique<PacketRun>(std::move(parts), codec);
}

}  // namespace unisono::run
