// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// An allreduce by a codec that is no cast. First the members agree which tensors hold nothing but
// numbers everywhere; only those are encoded, and the result of another is NaN on every member,
// with nothing of what its codec keeps touched. Outputs are written at the end, so a failure leaves
// them as they were.
#include <algorithm>
#include <deque>
#include <limits>
#include <mutex>
#include <new>

#include "base/data/text.hpp"
#include "kernels/kernels.hpp"
#include "model/codec/rules.hpp"
#include "run/kinds/kinds.hpp"
#include "run/packets/exchange.hpp"

namespace unisono::run {
namespace {

constexpr char kSetMark = '\x1f';           // in no name that people write

class PacketRun final : public BucketRun {
 public:
  PacketRun(RunParts parts, const CodecSpec& codec)
      : BucketRun(std::move(parts.bucket), std::move(parts.pendings), parts.context),
        codec_(codec) {}

  ~PacketRun() override {
    if (!uses_memory_) return;              // else it failed on the way
    const std::lock_guard lock(codec_memory().mutex);
    end_use(codec_memory());
  }

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

  move::Step step() override {
    if (!trouble_.ok()) return move::Step::waiting;
    const move::Step step = machine_->step();
    if (step != move::Step::finished) return step;
    try {
      auto following = next_machine();
      if (following == nullptr) return move::Step::finished;
      machine_ = std::move(following);
    } catch (const std::bad_alloc&) {
      trouble_ = Status(Code::out_of_memory,
                        cat("no memory to encode '", tensors_.front().request->name, "' by '",
                            codec_.text(), "'; free memory on this host or lower fusion_bytes"));
    }
    return move::Step::advanced;
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
  // Sets other than the world have tensors of their own.
  std::string kept_name(const Tensor& tensor) const {
    return bucket_.set == 0 ? tensor.request->name
                            : cat(kSetMark, bucket_.set, "/", tensor.request->name);
  }

  std::unique_ptr<move::CollectiveMachine> next_machine() {
    encode::CodecMemory& memory = codec_memory();
    const std::lock_guard lock(memory.mutex);
    if (exchange_ == nullptr) begin_exchange(memory);
    if (exchange_ == nullptr) return nullptr;
    auto machine = exchange_->next();
    if (machine == nullptr) finish_exchange(memory);
    return machine;
  }

  encode::CodecMemory& codec_memory() {
    return context_.codecs != nullptr ? *context_.codecs : own_memory_;
  }
  void end_use(encode::CodecMemory& memory) {
    --memory.under_way;
    for (const std::string& name : claimed_) memory.give_back(name);
    uses_memory_ = false;
  }

  void begin_exchange(encode::CodecMemory& memory) {
    ExchangeWork work{.codec = codec_, .tensors = {},
                      .next_context = [this] { return next_context(); },
                      .algorithm = algorithm_of(*context_.options), .network = context_.network,
                      .measured = context_.network != nullptr && context_.network->usable &&
                                  !context_.options->deterministic,
                      .members = context_.members};
    auto& use = memory.use_of(codec_.text());
    ++memory.under_way;
    uses_memory_ = true;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Tensor& tensor = tensors_[i];
      if (skipped(i)) ++use.report.skipped;
      if (skipped(i) || tensor.out_count == 0) continue;
      // A name that never comes again keeps nothing.
      encode::TensorMemory* kept = nullptr;
      if (is_made_up(tensor.request->name)) {
        kept = &forgotten_.emplace_back();
      } else {
        const std::string& name = claimed_.emplace_back(memory.claim(kept_name(tensor)));
        if (codec_.feedback) use.tensors.insert(name);
        kept = &memory.feedback.of(name);
      }
      work.tensors.push_back({source_of(tensor), kept, sum_of(tensor)});
      memories_.push_back(work.tensors.back().memory);
      bytes_ += tensor.request->bytes();
    }
    if (work.tensors.empty()) return end_use(memory);
    exchange_ = make_exchange(std::move(work));
  }

  void finish_exchange(encode::CodecMemory& memory) {
    // Everywhere alike, also where a rank has joined: what is picked later depends on it.
    for (encode::TensorMemory* each : memories_) ++each->steps;
    CodecReport& report = memory.use_of(codec_.text()).report;
    report.tensors += memories_.size();
    report.bytes += bytes_;
    report.packed_bytes += exchange_->packed_bytes();
    report.exchange = exchange_->describe();
    // Before anybody hears that it is done: who does may save what is kept.
    end_use(memory);
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
  std::vector<std::string> claimed_;        // names of what is kept
  std::size_t bytes_ = 0;
  bool uses_memory_ = false;                // counts as under way
  std::unique_ptr<Exchange> exchange_;
  Status trouble_;
};

}  // namespace

std::unique_ptr<BucketRun> make_packet_run(RunParts parts, const CodecSpec& codec) {
  return std::make_unique<PacketRun>(std::move(parts), codec);
}

}  // namespace unisono::run
