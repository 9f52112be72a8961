// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Gathers, scatters, broadcasts and barriers whose members all share memory: machines read the
// callers' tensors and write the results themselves.
#include "move/local/local.hpp"
#include "run/kinds/kinds.hpp"
#include "run/kinds/over_memory.hpp"
#include "run/row_split.hpp"
#include "run/kinds/tensor_run.hpp"

namespace unisono::run {
namespace {

class LocalTensorRun final : public OverMemory<TensorRun> {
 public:
  using OverMemory::OverMemory;

 private:
  // To know where its rows lie in the others' windows, each needs all counts of all members.
  std::size_t counts_each() const override { return members(); }

  move::LocalTurn turn(std::size_t index) const {
    return move::LocalTurn(*context_.team, bucket_, *context_.members, index);
  }

  Status start_counts(Tensor& tensor) override {
    tensor.counts.resize(members() * members());
    // A turn of its own, past those of the tensors themselves.
    use(move::make_local_allgather(
        turn(tensors_.size() + current_index()), std::as_bytes(std::span(tensor.splits)),
        move::Extents(members(), members() * sizeof(std::int64_t)),
        std::as_writable_bytes(std::span(tensor.counts))));
    return {};
  }

  Status start_current(Tensor& tensor) override {
    const Request& request = *tensor.request;
    if (request.kind == Collective::barrier) {
      use(move::make_local_barrier(turn(current_index())));
      return {};
    }
    const std::span<const std::byte> in(static_cast<const std::byte*>(tensor.pending.input),
                                        tensor.pending.request.bytes());
    if (request.kind == Collective::broadcast) return start_broadcast(tensor, in);

    const auto me = static_cast<std::size_t>(context_.members->me);
    const bool alltoall = request.kind == Collective::alltoall;
    const auto received =
        alltoall ? received_by(tensor.counts, members(), me) : std::vector<std::int64_t>();
    CollectiveGeometry geometry = geometry_of(
        request, *context_.members,
        {.extents = extents_of(tensor), .sent = tensor.splits, .received = received});
    if (auto status = own_rows(tensor, geometry); !status) return status;
    const std::span<std::byte> out(tensor.pending.ticket->result.get(), geometry.bytes());
    if (request.kind == Collective::allgather) {
      use(move::make_local_allgather(turn(current_index()), in, std::move(geometry.receives),
                                     out));
    } else if (alltoall) {
      use(move::make_local_alltoall(turn(current_index()), in,
                                    to_bytes(tensor.counts, geometry.row_bytes), out));
    } else {
      use(move::make_local_reducescatter(turn(current_index()), reduction(tensor, in),
                                         std::move(geometry.sends), out));
    }
    return {};
  }

  Status start_broadcast(Tensor& tensor, std::span<const std::byte> in) {
    tensor.out_shape = tensor.request->shape;
    if (tensor.pending.output == nullptr) {
      if (auto status = own_result(tensor, in.size()); !status) return status;
    }
    use(move::make_local_broadcast(
        turn(current_index()), context_.members->index_of(tensor.request->root), in,
        {static_cast<std::byte*>(output_of(tensor)), in.size()}));
    return {};
  }

  move::LocalReduction reduction(const Tensor& tensor, std::span<const std::byte> in) const {
    const Request& request = *tensor.request;
    return {.dtype = request.dtype,
            .op = request.op,
            .prescale = request.prescale,
            .divisor = divisor(tensor),
            .postscale = request.postscale,
            .vote = tensor.response->vote,
            .translation = {},
            .items = {{in.data(), nullptr, 0, in.size()}},
            .bytes = in.size()};
  }
};

}  // namespace

std::unique_ptr<BucketRun> make_local_tensor_run(RunParts parts) {
  return std::make_unique<LocalTensorRun>(std::move(parts.bucket), std::move(parts.pendings),
                                          parts.context);
}

}  // namespace unisono::run
