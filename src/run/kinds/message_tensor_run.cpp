// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Gathers, scatters, broadcasts and barriers over messages: a tensor travels in a buffer of the
// engine and arrives there, or in a result that the ticket owns.
#include <algorithm>

#include "kernels/kernels.hpp"
#include "run/kinds/kinds.hpp"
#include "run/kinds/tensor_run.hpp"
#include "run/kinds/unpack.hpp"

namespace unisono::run {
namespace {

class MessageTensorRun final : public TensorRun {
 public:
  using TensorRun::TensorRun;

 private:
  std::size_t counts_each() const override { return 1; }  // what each sends here
  std::string_view asked(Collective kind) const {
    return algorithm_of(*context_.options, kind);
  }
  // Of a tensor that begins to move now; bytes as all members know them.
  Choice choose(const Request& request, std::size_t bytes) const {
    if (context_.selector == nullptr) return {asked(request.kind)};
    return context_.selector->choose(
        {.dtype = request.dtype, .bytes = bytes, .kind = request.kind}, context_.clock->now());
  }

  Status start_counts(Tensor& tensor) override {
    constexpr std::size_t kNumber = sizeof(std::int64_t);
    tensor.counts.resize(members());
    const move::Extents each(members(), kNumber);
    machine_ = move::make_alltoall(
        next_context(),
        {.in = std::as_bytes(std::span(tensor.splits)), .send_counts = each,
         .out = std::as_writable_bytes(std::span(tensor.counts)), .receive_counts = each,
         .sent_by_each = move::Extents(members(), members() * kNumber)},
        asked(Collective::alltoall));
    return {};
  }

  Status start_current(Tensor& tensor) override {
    const Request& request = *tensor.request;
    if (request.kind == Collective::barrier) {
      machine_ = move::make_barrier(next_context());
      return {};
    }
    const auto count = static_cast<std::size_t>(tensor.pending.request.elements());
    const std::size_t bytes = count * size_of(request.dtype);
    if (auto status = take_buffer(tensor.in, bytes); !status) return status;
    const auto in = tensor.in.first(bytes);
    const bool is_root = context_.members->index_of(request.root) == context_.members->me;
    if (request.kind != Collective::broadcast || is_root) {
      kernels::scale(request.dtype, in.data(), tensor.pending.input, request.prescale, count);
    }
    if (request.kind == Collective::broadcast) return start_broadcast(tensor, in, count);

    CollectiveGeometry geometry = geometry_of(
        request, *context_.members,
        {.extents = extents_of(tensor), .sent = tensor.splits, .received = tensor.counts});
    if (auto status = own_rows(tensor, geometry); !status) return status;
    const std::span<std::byte> out(tensor.pending.ticket->result.get(), geometry.bytes());
    if (request.kind == Collective::allgather) {
      const Choice choice = choose(request, geometry.bytes());
      run_chosen(move::make_allgather(next_context(), in, geometry.receives, out,
                                      choice.algorithm),
                 choice);
    } else if (request.kind == Collective::reducescatter) {
      const Choice choice = choose(request, bytes);
      run_chosen(move::make_reducescatter(next_context(), request.dtype, request.op, in,
                                          geometry.sends, out, choice.algorithm),
                 choice);
    } else {
      move::Extents sent_by_each;
      for (const std::int64_t rows : extents_of(tensor)) {
        sent_by_each.push_back(static_cast<std::size_t>(rows) * geometry.row_bytes);
      }
      // Whoever sends most decides how long it takes.
      const Choice choice =
          choose(request, *std::max_element(sent_by_each.begin(), sent_by_each.end()));
      run_chosen(move::make_alltoall(next_context(),
                                     {.in = in, .send_counts = geometry.sends, .out = out,
                                      .receive_counts = geometry.receives,
                                      .sent_by_each = std::move(sent_by_each)},
                                     choice.algorithm),
                 choice);
    }
    return {};
  }

  Status start_broadcast(Tensor& tensor, std::span<std::byte> in, std::size_t count) {
    tensor.out_shape = tensor.request->shape;
    tensor.out_count = count;
    if (tensor.pending.output == nullptr) {
      if (auto status = own_result(tensor, in.size()); !status) return status;
    }
    const int root = context_.members->index_of(tensor.request->root);
    const Choice choice = choose(*tensor.request, in.size());
    run_chosen(move::make_broadcast(next_context(), root, in, choice.algorithm), choice);
    return {};
  }

  void deliver() override {
    for (const Tensor& tensor : tensors_) {
      if (tensor.absent() || tensor.out_count == 0) continue;
      const Request& request = *tensor.request;
      void* out = output_of(tensor);
      if (request.kind == Collective::broadcast) {
        unpack(request.dtype, {}, tensor.in.memory.get(), out, tensor.out_count);
      } else if (request.kind == Collective::reducescatter) {
        unpack(request.dtype, {request.op, divisor(tensor), request.postscale}, out, out,
               tensor.out_count);
      }
    }
  }
  void give_buffers_back() override {
    for (Tensor& tensor : tensors_) context_.buffers->give_back(std::move(tensor.in));
  }
};

}  // namespace

std::unique_ptr<BucketRun> make_message_tensor_run(RunParts parts) {
  return std::make_unique<MessageTensorRun>(std::move(parts.bucket), std::move(parts.pendings),
                                            parts.context);
}

}  // namespace unisono::run
