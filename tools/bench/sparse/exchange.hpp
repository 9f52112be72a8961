// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One vector of one rank, and the ways in which it is reduced: through the sparse collectives of an
// engine, or as a dense one. A further way is a further Exchange.
// Thread: one. Inputs outlive the exchanges, and those are idle when they are destroyed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/buffer.hpp"
#include "bench/sparse/inputs/oracle.hpp"
#include "bench/sparse/settings.hpp"
#include "unisono/unisono.hpp"

namespace unisono::tools {

// What all ranks have, of which this rank brings its own.
class SparseInputs {
 public:
  // with_dense: whether there is a dense copy, too. The case is supportable and checkable.
  SparseInputs(const SparseBenchCase& what, const SupportShape& shape, int rank, bool with_dense);

  // Values change from round to round; nothing may be on its way.
  void begin_round(int round);
  int round() const { return round_; }

  const SparseBenchCase what;
  const SupportShape shape;
  const std::shared_ptr<const std::vector<Indices>> supports;  // by rank
  const SparseOracle oracle;
  const Indices& indices() const { return (*supports)[static_cast<std::size_t>(rank_)]; }
  std::span<const std::byte> values() const { return values_; }
  std::span<const std::byte> dense() const { return dense_.span(); }
  // Of dense results; nothing in it is left from rounds before.
  std::span<std::byte> dense_result() const { return dense_result_.span(); }

 private:
  const int rank_;
  int round_ = 0;
  std::vector<std::byte> values_;
  Buffer dense_, dense_result_;
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  // One call, from submission until this rank has the result.
  virtual Status call() = 0;
  // Whether the result of the last call is what it must be.
  virtual Status check() = 0;
  // Which algorithm the last call ran; "" when it is not known.
  virtual std::string ran() const = 0;
  virtual bool dense_result() const = 0;
};

std::unique_ptr<Exchange> dense_exchange(Engine& engine, std::string name,
                                         const SparseInputs& inputs);
std::unique_ptr<Exchange> sparse_exchange(Engine& engine, std::string name,
                                          const SparseMethod& method, const SparseInputs& inputs);

}  // namespace unisono::tools
