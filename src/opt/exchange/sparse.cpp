// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Pairs by the engine's sparse allreduce: an element of the sum is added up by its owner, or on the
// way, and not by every rank. The engine chooses the algorithm from how many pairs the ranks
// have and what their links cost, or takes the one that is named.
#include <string>

#include "opt/exchange/registry.hpp"

namespace unisono::opt {
namespace {

class SparseExchange final : public Exchange {
 public:
  SparseExchange(Engine& engine, std::uint32_t length, std::string_view algorithm)
      : engine_(engine), length_(length), algorithm_(algorithm) {}

  std::string_view name() const override {
    return algorithm_.empty() ? std::string_view("sparse") : algorithm_;
  }

  Status begin(SparseView mine) override {
    result_ = {};
    bytes_ += mine.indices.size() * (sizeof(std::uint32_t) + sizeof(float));
    ticket_ = engine_.sparse_allreduce<float, std::uint32_t>(
        "opt.sparse", mine.indices, mine.values, length_,
        {.op = ReduceOp::sum, .algorithm = std::string(algorithm_)});
    return ticket_.refusal();
  }

  Result<Total> end() override {
    if (Status bad = ticket_.wait(); !bad.ok()) return bad;
    result_ = ticket_.sparse();
    ticket_ = {};
    // Lengths are below 2^32, so indices are narrow; values are aligned for any element.
    return Total{result_.dense, result_.indices32,
                 {reinterpret_cast<const float*>(result_.values.data()), result_.count}};
  }
  std::uint64_t bytes() const override { return bytes_; }

 private:
  Engine& engine_;
  const std::uint32_t length_;
  const std::string_view algorithm_;        // lives for ever; "" = chosen
  Ticket ticket_;
  SparseResult result_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Exchange> make_sparse(Engine& engine, std::uint32_t length,
                                      std::string_view algorithm) {
  return std::make_unique<SparseExchange>(engine, length, algorithm);
}

}  // namespace unisono::opt
