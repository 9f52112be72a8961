// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A sparse collective: one tensor, over messages. Which algorithm it takes follows from what all
// members have agreed on (their counts, or what the caller expects) and from what all of them know
// of their links, so that they choose alike. The result belongs to the ticket; a member that has
// joined brings nothing.
#include "base/check.hpp"
#include "base/data/text.hpp"
#include "cost/sparse_algorithms.hpp"
#include "model/codec/rules.hpp"
#include "move/sparse/sparse.hpp"
#include "run/kinds/kinds.hpp"
#include "run/kinds/quantised_slices.hpp"
#include "run/kinds/unpack.hpp"
#include "run/select/sparse_trials.hpp"

namespace unisono::run {
namespace {

class SparseRun final : public BucketRun {
 public:
  explicit SparseRun(RunParts parts)
      : BucketRun(std::move(parts.bucket), std::move(parts.pendings), parts.context) {}

  Status start() override {
    UNISONO_CHECK(tensors_.size() == 1);
    Tensor& tensor = tensors_.front();
    const Request& request = *tensor.request;
    tensor.out_shape = request.shape;
    mine_ = tensor.pending.sparse;
    if (tensor.absent()) {
      mine_ = std::make_shared<const stream::Stream>(
          request.dtype, static_cast<std::uint64_t>(request.elements()));
    }
    UNISONO_CHECK(mine_ != nullptr);
    move::SparseWork work;
    work.dtype = request.dtype;
    user_operator_ = tensor.pending.user_operator;
    work.op = {.op = request.op, .user = user_operator_.get()};
    work.mine = mine_->view();
    work.sequence = static_cast<std::uint32_t>(tensor.response->sequence);
    work.overlapped = request.sparse.refuse_overlap ? &overlapped_ : nullptr;
    work.k = request.sparse.top_k;
    algorithm_ = request.kind == Collective::sparse_allgather ? "sparse_allgather" : choose();
    if (context_.explanations != nullptr) explain();
    if (algorithm_ == "oktopk") work.memory = remembered(request.name);
    if (algorithm_ == "dsar_split_allgather" && request.sparse.gather_bits != 0) {
      slices_.emplace(request.sparse.gather_bits, request.name, tensor.response->sequence);
      work.codec = &*slices_;
    }
    machine_ = request.kind == Collective::sparse_allgather
                   ? move::make_sparse_allgather(next_context(), std::move(work), result_)
                   : move::make_sparse_allreduce(algorithm_, next_context(), std::move(work),
                                                 result_);
    return {};
  }

 private:
  // Elements that each member brings, as far as the choice knows.
  double elements() const {
    const SparseAsk& ask = tensors_.front().request->sparse;
    return ask.expected != 0 ? static_cast<double>(ask.expected)
                             : static_cast<double>(ask.nnz_sum) / context_.members->count();
  }

  void explain() const {
    const Request& request = *tensors_.front().request;
    SparseChoice choice{.collective = std::string(name_of(request.kind)),
                        .set = bucket_.set,
                        .dtype = std::string(name_of(request.dtype)),
                        .length = static_cast<std::uint64_t>(request.elements()),
                        .elements = elements(),
                        .algorithm = std::string(algorithm_),
                        .reason = {},
                        .candidates = trials_of(candidates_)};
    choice.reason = !candidates_.empty() ? cat("the shortest of ", candidates_.size(),
                                               " predictions by ", measured() ? "measured" : "typical",
                                               " figures")
                    : request.kind == Collective::sparse_allgather ? "there is no other"
                    : context_.members->count() == 1 ? "the rank is alone"
                                                     : "the call asks for it";
    context_.explanations->set(std::move(choice));
  }

  bool measured() const {
    return context_.network != nullptr && context_.network->usable &&
           !context_.options->deterministic;
  }

  // Equal on all members.
  std::string_view choose() {
    const Request& request = *tensors_.front().request;
    const SparseAsk& ask = request.sparse;
    if (!ask.algorithm.empty()) return move::sparse_algorithm_named(ask.algorithm);
    const int n = context_.members->count();
    if (n == 1) return "ssar_recursive_double";
    const double k = elements();
    cost::SparseCase what;
    what.layout = cost::layout_of(context_.network != nullptr ? *context_.network : cost::Network{},
                                  *context_.members);
    what.length = static_cast<std::uint64_t>(request.elements());
    what.value_bytes = size_of(request.dtype);
    const bool user = user_operator_ != nullptr;
    what.partials = !user && kernels::Operator{.op = request.op}.has_partials(request.dtype);
    what.count = ask.same_indices ? cost::identical_supports(what.length, k)
                                  : cost::uniform_supports(what.length, k, n);
    what.k = ask.top_k != 0 ? static_cast<double>(ask.top_k) : static_cast<double>(ask.most());
    const move::MoveContext where{.members = context_.members, .host = context_.host};
    what.dense_rule = [&](std::size_t bytes) {
      return move::choose_allreduce("auto", where, request.dtype, bytes);
    };
    if (ask.gather_bits != 0) {
      what.gathered_bytes_per_value = QuantisedSlices::bytes_per_value(ask.gather_bits);
    }
    candidates_ = cost::choose_sparse(
        what,
        {.topk = ask.allow_loss && !user, .codec = ask.gather_bits != 0, .user_operator = user,
         .supports_may_agree = ask.same_indices},
        measured() ? context_.network->costs : cost::typical_costs());
    return candidates_.front().algorithm;
  }

  // Members that have run the same steps remember the same. A name that never comes again has nothing
  // to remember.
  move::TopkMemory* remembered(const std::string& name) const {
    return context_.topk == nullptr || is_made_up(name) ? nullptr : &(*context_.topk)[name];
  }

  void deliver() override {
    Tensor& tensor = tensors_.front();
    if (tensor.absent() || overlapped_) return;
    const Request& request = *tensor.request;
    std::byte* const values = result_.values().data();
    const std::size_t count = result_.nnz();
    if (count > 0) {
      unpack(request.dtype, {request.op, divisor(tensor), request.postscale}, values, values,
             count);
    }
    TicketState& ticket = *tensor.pending.ticket;
    ticket.sparse = std::make_shared<const stream::Stream>(std::move(result_));
    ticket.algorithm = algorithm_;
    ticket.op = request.op;
    ticket.user_operator = user_operator_;
  }

  Status outcome(const Tensor& tensor) const override {
    if (!overlapped_) return {};
    return Status(Code::mismatch,
                  cat("sparse_allgather '", tensor.request->name,
                      "': two ranks brought the same index. Give every rank indices of its own, "
                      "or leave refuse_overlap off to have their values combined"),
                  Culprit{-1, {}, 0, tensor.request->name});
  }

  std::shared_ptr<const stream::Stream> mine_;
  std::shared_ptr<const SparseOperator> user_operator_;  // outlives the machine
  std::optional<QuantisedSlices> slices_;   // outlives the machine
  stream::Stream result_;
  std::string_view algorithm_;
  std::vector<cost::SparseCandidate> candidates_;  // that were reckoned with, the best first
  bool overlapped_ = false;
};

}  // namespace

std::unique_ptr<BucketRun> make_sparse_run(RunParts parts) {
  return std::make_unique<SparseRun>(std::move(parts));
}

}  // namespace unisono::run
