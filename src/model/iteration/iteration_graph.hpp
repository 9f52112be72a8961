// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One iteration as a plan of it is made: what is sent, when it is ready, what needs what; and the
// seam between the order, which learns an iteration, and the planner, which arranges it.
// Values; thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/iteration/bucket_method.hpp"
#include "unisono/types.hpp"

namespace unisono {

// A tensor, or a group that travels as one.
struct IterationUnit {
  std::int64_t ready_ns = 0;            // since the first one of the iteration was submitted
  std::int64_t bytes = 0;
  std::int32_t priority = 0;            // larger goes first among those ready together
  std::uint32_t kind = 0;               // only units of one kind share a bucket
  bool alone = false;                   // shares with none
  std::uint32_t team = 0;               // whose channel it travels through, from 1; 0 = any
  bool sums = false;                    // an allreduce by any of the algorithms
  DType dtype = DType::f32;
  std::string codecs = {};              // that may be chosen for it: "fp16,bf16"
};

// Which unit may be submitted only after which other has ended: a bit for each pair.
class IterationEdges {
 public:
  IterationEdges() = default;
  explicit IterationEdges(std::size_t units) : units_(units), bits_(units * units, false) {}

  std::size_t units() const { return units_; }
  void add(std::size_t from, std::size_t to) { bits_[from * units_ + to] = true; }
  bool has(std::size_t from, std::size_t to) const { return bits_[from * units_ + to]; }

 private:
  std::size_t units_ = 0;
  std::vector<bool> bits_;
};

struct IterationGraph {
  std::vector<IterationUnit> units;     // where nothing else decides, those named first go first
  IterationEdges edges;                 // over as many units
};

using IterationBuckets = std::vector<std::vector<std::uint32_t>>;  // units, in order

// Why these cannot be the buckets of that iteration; empty: they can. Every unit once, only what
// may share a bucket in one, and what needs a unit in a later bucket than that.
std::string fault_of(const IterationGraph& graph, const IterationBuckets& buckets);

// How each of some buckets is to travel, and for people why.
struct MethodChoice {
  BucketMethod method;
  std::string reason;
};
using IterationMethods = std::vector<MethodChoice>;
// The same of the methods of these buckets, on a set with so many channels.
std::string fault_of(const IterationGraph& graph, const IterationBuckets& buckets,
                     const IterationMethods& methods, std::uint32_t channels);

// Arranges iterations by the costs it knows when it is asked.
class IterationArranger {
 public:
  virtual ~IterationArranger() = default;
  virtual std::string_view name() const = 0;
  // Empty when the edges form a circle.
  virtual IterationBuckets arrange(const IterationGraph& graph) const = 0;
  // How the buckets that arrange() gave should travel. Empty: all as their tensors ask for, and in
  // turn through the channels.
  virtual IterationMethods methods(const IterationGraph& graph,
                                   const IterationBuckets& buckets) const {
    static_cast<void>(graph);
    static_cast<void>(buckets);
    return {};
  }
  // When the last of these buckets would have arrived.
  virtual double finish_s(const IterationGraph& graph, const IterationBuckets& buckets,
                          const IterationMethods& methods) const = 0;
};

}  // namespace unisono
