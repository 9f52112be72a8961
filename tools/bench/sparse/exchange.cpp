// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/sparse/exchange.hpp"

#include <algorithm>
#include <cstring>

#include "base/data/text.hpp"

namespace unisono::tools {
namespace {

std::shared_ptr<const std::vector<Indices>> supports_of_ranks(const SupportShape& shape) {
  auto out = std::make_shared<std::vector<Indices>>();
  for (int rank = 0; rank < shape.ranks; ++rank) out->push_back(support_of(shape, rank));
  return out;
}

class DenseExchange final : public Exchange {
 public:
  DenseExchange(Engine& engine, std::string name, const SparseInputs& inputs)
      : engine_(engine), name_(std::move(name)), inputs_(inputs) {}

  Status call() override {
    const Operation all{.kind = Collective::allreduce,
                        .name = name_,
                        .dtype = inputs_.what.dtype,
                        .shape = {static_cast<std::int64_t>(inputs_.what.length)},
                        .input = inputs_.dense().data(),
                        .output = inputs_.dense_result().data(),
                        .members = {},
                        .keep_alive = {}};
    return engine_.submit(all, {.op = ReduceOp::sum}).wait();
  }
  Status check() override {
    return inputs_.oracle.check({true, {}, inputs_.dense_result()}, inputs_.round());
  }
  std::string ran() const override {
    if (engine_.options().algorithm != "auto") return engine_.options().algorithm;
    for (const AlgorithmChoice& choice : engine_.explain().choices) {
      if (choice.collective == "allreduce" && choice.set == kWorld && !choice.encoded &&
          choice.bytes_min <= inputs_.what.bytes() && inputs_.what.bytes() <= choice.bytes_max) {
        return choice.algorithm;
      }
    }
    return "";
  }
  bool dense_result() const override { return true; }

 private:
  Engine& engine_;
  const std::string name_;
  const SparseInputs& inputs_;
};

class SparseExchange final : public Exchange {
 public:
  SparseExchange(Engine& engine, std::string name, const SparseMethod& method,
                 const SparseInputs& inputs)
      : engine_(engine), name_(std::move(name)), method_(method), inputs_(inputs) {}

  Status call() override {
    // A gather all of whose elements are combined is a sum, too.
    const bool gathers = method_.algorithm == "sparse_allgather";
    SparseSettings settings;
    settings.op = ReduceOp::sum;
    settings.algorithm = method_.algorithm == "auto" || gathers ? "" : method_.algorithm;
    settings.allow_loss = method_.algorithm == "oktopk" || method_.gather_bits > 0;
    settings.top_k = method_.algorithm == "oktopk" ? inputs_.shape.nnz : 0;
    settings.gather_bits = method_.gather_bits;
    const SparseOperand mine{.dtype = inputs_.what.dtype,
                             .index_dtype = DType::u32,
                             .count = inputs_.indices().size(),
                             .indices = inputs_.indices().data(),
                             .values = inputs_.values().data(),
                             .length = static_cast<std::int64_t>(inputs_.what.length)};
    ticket_ = gathers ? engine_.sparse_allgather(name_, mine, settings)
                      : engine_.sparse_allreduce(name_, mine, settings);
    return ticket_.wait();
  }
  Status check() override {
    const SparseResult result = ticket_.sparse();
    if (result.dtype != inputs_.what.dtype ||
        result.length != static_cast<std::int64_t>(inputs_.what.length) ||
        !result.indices64.empty()) {
      return Status(Code::corrupted, cat("the result is a vector of ", result.length, " ",
                                         name_of(result.dtype)));
    }
    const int levels = method_.gather_bits > 0 ? (1 << (method_.gather_bits - 1)) - 1 : 0;
    const Allowance allowance{.largest = method_.algorithm == "oktopk", .levels = levels};
    return inputs_.oracle.check({result.dense, result.indices32, result.values}, inputs_.round(),
                                allowance);
  }
  std::string ran() const override { return std::string(ticket_.sparse().algorithm); }
  bool dense_result() const override { return ticket_.sparse().dense; }

 private:
  Engine& engine_;
  const std::string name_;
  const SparseMethod method_;
  const SparseInputs& inputs_;
  Ticket ticket_;
};

}  // namespace

SparseInputs::SparseInputs(const SparseBenchCase& one, const SupportShape& of, int rank,
                           bool with_dense)
    : what(one), shape(of), supports(supports_of_ranks(of)),
      oracle(*supports, of.length, one.dtype, of.seed), rank_(rank),
      values_(indices().size() * size_of(one.dtype)) {
  if (with_dense) {
    dense_ = Buffer(what.bytes());
    dense_result_ = Buffer(what.bytes());
    std::memset(dense_.span().data(), 0, what.bytes());
  }
  begin_round(0);
}

void SparseInputs::begin_round(int round) {
  round_ = round;
  oracle.fill(indices(), rank_, round, values_);
  if (dense_.span().empty()) return;
  oracle.scatter(indices(), rank_, round, dense_.span());
  constexpr int kNoSum = 0xFF;
  std::memset(dense_result_.span().data(), kNoSum, what.bytes());
}

std::unique_ptr<Exchange> dense_exchange(Engine& engine, std::string name,
                                         const SparseInputs& inputs) {
  return std::make_unique<DenseExchange>(engine, std::move(name), inputs);
}

std::unique_ptr<Exchange> sparse_exchange(Engine& engine, std::string name,
                                          const SparseMethod& method, const SparseInputs& inputs) {
  return std::make_unique<SparseExchange>(engine, std::move(name), method, inputs);
}

}  // namespace unisono::tools
