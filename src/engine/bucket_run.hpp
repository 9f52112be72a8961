// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One bucket on its way: packed into buffers of the engine, moved by collective machines, taken
// out into the callers' outputs when all of it has arrived. The callers' memory is only read
// while starting and only written while completing, so a failure in between leaves it untouched.
// Thread: the engine's driver. Destroyed when finished, or after the transport.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "complete/resolve.hpp"
#include "engine/buffers.hpp"
#include "model/members.hpp"
#include "model/pending.hpp"
#include "model/plan.hpp"
#include "move/collective.hpp"
#include "unisono/options.hpp"

namespace unisono {

struct RunContext {
  Transport* transport = nullptr;
  const Members* members = nullptr;         // outlives the run
  BufferPool* buffers = nullptr;
  const Options* options = nullptr;
  std::uint64_t* next_move = nullptr;       // the set's count of machines; equal on all members
};

// The same error, naming the tensor it reached.
Status name_tensor(const Status& status, const Request& request);

class BucketRun {
 public:
  // pendings is parallel to the bucket's tensors; one without ticket is a rank that has joined.
  BucketRun(Bucket bucket, std::vector<Pending> pendings, RunContext context);
  ~BucketRun();

  // Packs and makes the first machine; out_of_memory when the buffers cannot be had.
  Status start();
  Step step();
  // After step() finished: writes the outputs and resolves the tickets.
  void complete(const ReleaseName& release);
  // Resolves the tickets with an error; the run itself lives on until the transport is gone.
  void fail(const Status& status, const ReleaseName& release);

  // Not ok when a later tensor of the bucket could not be started: the job cannot go on.
  const Status& trouble() const { return trouble_; }
  const Bucket& bucket() const { return bucket_; }
  std::string describe() const;
  std::size_t tensor_count() const;

 private:
  struct Tensor;
  Status start_fused_allreduce();
  Status start_tensor(std::size_t index);
  Status take_buffer(BufferPool::Buffer& buffer, std::size_t bytes);
  Status own_result(Tensor& tensor, std::size_t bytes);
  MoveContext next_context() const;
  void finish_tensor(Tensor& tensor);

  Bucket bucket_;
  RunContext context_;
  SetId set_;
  std::vector<Tensor> tensors_;
  BufferPool::Buffer fused_;
  std::unique_ptr<CollectiveMachine> machine_;
  std::size_t current_ = 0;                 // which tensor moves, when each has its own machine
  Status trouble_;                          // starting a later tensor failed
  std::vector<std::unique_ptr<std::byte[]>> abandoned_;  // results that transfers may still write
};

}  // namespace unisono
