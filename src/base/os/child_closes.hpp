// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A descriptor that a child made by fork() closes at once. If a child, such as a worker that loads
// data, kept a connection open, whoever waits for the end of the connection would not notice that
// the parent has died. Only the child's copy is closed: nothing is sent on the connection.
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
  // fd must outlive this object and must not move. In the child it is empty.
  explicit ChildCloses(Fd& fd);
  ~ChildCloses();
  ChildCloses(const ChildCloses&) = delete;
  ChildCloses& operator=(const ChildCloses&) = delete;

 private:
  friend struct ChildCloseList;
  Fd& fd_;
  ChildCloses* next_ = nullptr;
  ChildCloses** link_ = nullptr;  // the pointer to this object; null when there is none
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
