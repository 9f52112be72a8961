// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How the tensors of a bucket are added up over the members when a codec packs them: a few machines
// one after the other, and what happens to the tensors between them. All members choose alike, from
// what they have agreed on.
// Thread: the one that drives the bucket's channel; what it keeps of its tensors is its own alone.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cost/layout.hpp"
#include "encode/feedback/feedback.hpp"
#include "encode/packet/source.hpp"
#include "move/collective.hpp"
#include "unisono/codec.hpp"

namespace unisono::run {

class Explanations;                         // run/select/explanations.hpp

// One tensor on its way. The source's elements are numbers on every member.
struct PackedTensor {
  encode::Source source;
  encode::TensorMemory* memory = nullptr;
  float* sum = nullptr;                     // of all members; written when the exchange ends
};

struct ExchangeWork {
  CodecSpec codec;
  std::vector<PackedTensor> tensors;        // not empty, nor any of them
  std::function<move::MoveContext()> next_context;
  std::string_view algorithm;               // that was asked for
  const cost::Network* network = nullptr;   // null: ranks on one host
  bool measured = false;                    // else typical figures stand for the network's
  const Members* members = nullptr;
  Explanations* explanations = nullptr;     // may be null
  std::uint32_t set = 0;

  std::size_t n() const { return static_cast<std::size_t>(members->count()); }
  std::size_t me() const { return static_cast<std::size_t>(members->me); }
};

class Exchange {
 public:
  explicit Exchange(ExchangeWork work) : work_(std::move(work)) {}
  virtual ~Exchange() = default;
  // The machine that comes next, the first included; none when the sums are there. The one before
  // has finished.
  virtual std::unique_ptr<move::CollectiveMachine> next() = 0;
  // Bytes of what this member has packed, once the first machine is there.
  std::size_t packed_bytes() const { return packed_bytes_; }
  // In a sentence, for statistics.
  virtual std::string describe() const = 0;

 protected:
  ExchangeWork work_;
  std::size_t packed_bytes_ = 0;
};

// By the codec, and where there are several by the algorithm that was asked for.
std::unique_ptr<Exchange> make_exchange(ExchangeWork work);
std::unique_ptr<Exchange> make_dense_exchange(ExchangeWork work);
std::unique_ptr<Exchange> make_ring_exchange(ExchangeWork work);
std::unique_ptr<Exchange> make_sparse_exchange(ExchangeWork work);
std::unique_ptr<Exchange> make_low_rank_exchange(ExchangeWork work);

// About what the bucket's tensors are when packed; equal on all members.
std::size_t packed_size(const CodecSpec& codec, const Shape& shape);

}  // namespace unisono::run
