// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Pairs of all ranks by one allgather; every rank adds them in the order of the ranks, so all have
// the same bits. 8 · Σ nnz bytes reach each rank: good while supports are sparse and ranks few, or
// when supports are disjoint, as in coordinate descent.
//
// A message is the number of pairs, then the indices, then the bits of the values.
#include <algorithm>
#include <cstring>
#include <vector>

#include "opt/exchange/accumulator.hpp"
#include "opt/exchange/registry.hpp"

namespace unisono::opt {
namespace {

class GatherExchange final : public Exchange {
 public:
  GatherExchange(Engine& engine, std::uint32_t length)
      : engine_(engine), length_(length), sum_(length) {}

  std::string_view name() const override { return "allgather"; }

  Status begin(SparseView mine) override {
    const std::size_t count = mine.indices.size();
    message_.resize(1 + 2 * count);
    message_[0] = static_cast<std::uint32_t>(count);
    std::copy(mine.indices.begin(), mine.indices.end(), message_.begin() + 1);
    if (count > 0) std::memcpy(message_.data() + 1 + count, mine.values.data(), count * 4);
    bytes_ += message_.size() * sizeof message_[0];
    const std::span<const std::uint32_t> message(message_);
    ticket_ = engine_.allgather<std::uint32_t>("opt.pairs", message);
    return ticket_.refusal();
  }

  Result<Total> end() override {
    if (Status bad = ticket_.wait(); !bad.ok()) return bad;
    const Output output = ticket_.output();
    // Engine-owned memory is aligned for any element.
    std::span<const std::uint32_t> words(
        reinterpret_cast<const std::uint32_t*>(output.bytes.data()), output.bytes.size() / 4);
    while (!words.empty()) {
      const std::size_t count = words[0];
      if (words.size() < 1 + 2 * count) {
        return Status(Code::corrupted, "a message of sparse pairs is shorter than it says");
      }
      for (std::size_t i = 1; i <= count; ++i) {
        if (words[i] >= length_) return Status(Code::corrupted, "a sparse pair is out of range");
        float value = 0;
        std::memcpy(&value, &words[i + count], sizeof value);
        sum_.add(words[i], value);
      }
      words = words.subspan(1 + 2 * count);
    }
    indices_.clear();
    values_.clear();
    sum_.take(0, length_, indices_, values_);
    ticket_ = {};
    return Total{false, indices_, values_};
  }
  std::uint64_t bytes() const override { return bytes_; }

 private:
  Engine& engine_;
  const std::uint32_t length_;
  std::vector<std::uint32_t> message_, indices_;
  std::vector<float> values_;
  Accumulator sum_;
  Ticket ticket_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Exchange> make_gather(Engine& engine, std::uint32_t length) {
  return std::make_unique<GatherExchange>(engine, length);
}

}  // namespace unisono::opt
