// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A descriptor that a child made by fork() closes at once. A child that kept a connection open, such
// as a worker that loads data, would hide its parent's death from whoever waits for the connection's
// end. Only the child's copy is closed: nothing is said on the connection.
//
// Children made by vfork() or posix_spawn() run another program at once and lose every descriptor
// that is marked to be closed then; all of ours are.
// Thread: any. The list of all such descriptors is shared by the engines of a process.
#pragma once

#include <cstdint>

#include "base/os/fd.hpp"

namespace unisono {

class ChildCloses {
 public:
  // fd outlives this object and stays where it is. In the child it is empty.
  explicit ChildCloses(Fd& fd);
  ~ChildCloses();
  ChildCloses(const ChildCloses&) = delete;
  ChildCloses& operator=(const ChildCloses&) = delete;

 private:
  friend struct ChildCloseList;
  Fd& fd_;
  ChildCloses* next_ = nullptr;
  ChildCloses** link_ = nullptr;  // what points here; null when nothing does
};

// Tells whether the process is a child of the one in which this object was made, without asking the
// kernel: cheap enough for every call of the engine.
class ForkWatch {
 public:
  ForkWatch();
  bool in_child() const;

 private:
  std::uint64_t forks_;
};

}  // namespace unisono
