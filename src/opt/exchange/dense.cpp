// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// All elements, zeros included, by one allreduce: 2 · 4 · length bytes through each rank, whatever
// the density. The vector lies in the arena where there is room, so that ranks of one host reduce
// it without a copy.
#include <algorithm>
#include <vector>

#include "opt/exchange/registry.hpp"

namespace unisono::opt {
namespace {

class DenseExchange final : public Exchange {
 public:
  DenseExchange(Engine& engine, std::uint32_t length) : engine_(engine) {
    auto block = engine.arena().allocate(length * sizeof(float));
    if (block.ok()) {
      block_ = std::move(*block);
      all_ = block_.as<float>().first(length);
    } else {
      heap_.resize(length);
      all_ = heap_;
    }
  }

  std::string_view name() const override { return "dense"; }

  Status begin(SparseView mine) override {
    std::fill(all_.begin(), all_.end(), 0.0f);
    for (std::size_t i = 0; i < mine.indices.size(); ++i) all_[mine.indices[i]] = mine.values[i];
    bytes_ += all_.size_bytes();
    ticket_ = engine_.allreduce<float>("opt.dense", all_, {.op = ReduceOp::sum});
    return ticket_.refusal();
  }

  Result<Total> end() override {
    if (Status bad = ticket_.wait(); !bad.ok()) return bad;
    return Total{true, {}, all_};
  }
  std::uint64_t bytes() const override { return bytes_; }

 private:
  Engine& engine_;
  ArenaBlock block_;
  std::vector<float> heap_;
  std::span<float> all_;
  Ticket ticket_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Exchange> make_dense(Engine& engine, std::uint32_t length) {
  return std::make_unique<DenseExchange>(engine, length);
}

}  // namespace unisono::opt
