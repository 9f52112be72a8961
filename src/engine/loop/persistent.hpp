// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One persistent operation: agreed once, started again and again, independent of everything else.
// It has a place on the board and tags of its own, so that it needs no turn in the agreed order.
// Released at an agreed place of its set's order, or with its set.
// Thread: the engine's driver.
#pragma once

#include <memory>

#include "run/bucket_run.hpp"
#include "run/select/selector.hpp"
#include "engine/loop/shared_parts.hpp"

namespace unisono::engine {

struct PersistentParts {
  std::uint32_t index = 0;  // among the live ones of its set, the same on all members
  Members members;
  Response response;                        // what was agreed
  std::unique_ptr<move::LocalTeam> team;    // null: members do not all share memory
  std::unique_ptr<move::HostTeam> host;     // of members on several hosts, or null
  const SharedParts* shared = nullptr;
};

class PersistentRunner {
 public:
  explicit PersistentRunner(PersistentParts parts);

  const Members& members() const { return parts_.members; }
  bool busy() const { return active_ != nullptr; }
  // How many runs this rank has taken part in to their end.
  std::uint64_t completed() const { return completed_; }
  // A member takes part in this many runs and no more. Later runs fail with the status; one that is
  // on its way fails at once and is returned, to be kept until the transport is gone.
  std::unique_ptr<run::BucketRun> end_after(std::uint64_t runs, const Status& status);
  // Not ok when no further run can end.
  const Status& refusal() const;
  SetId set() const { return parts_.response.set; }
  std::uint32_t index() const { return parts_.index; }
  // The same on every member and never that of another operation, whereas numbers are used again.
  std::uint64_t identity() const { return prototype_.identity; }
  move::LocalTeam* team() const { return parts_.team.get(); }
  move::HostTeam* host() const { return parts_.host.get(); }
  std::size_t bytes() const { return prototype_.bytes; }
  const Request& request() const { return prototype_.responses.front().tensors.front(); }
  // Takes the operation, and resolves it when it cannot be started.
  Status start(Pending& pending);
  bool advance();
  bool ready() const { return active_ != nullptr && active_->ready(); }
  const Status& trouble() const;
  std::unique_ptr<run::BucketRun> stop(const Status& status);

 private:
  PersistentParts parts_;
  Bucket prototype_;
  std::uint64_t next_move_ = 0;
  std::uint64_t started_ = 0, completed_ = 0;
  std::uint64_t runs_max_ = UINT64_MAX;    // a member has left after this many
  Status left_;                             // and this is what the others fail with
  std::unique_ptr<run::Selector> selector_;
  std::unique_ptr<run::BucketRun> active_;
};

}  // namespace unisono::engine
