// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Test support: memory that runs out at a chosen allocation of a chosen thread. The binary's
// operator new (failing_new.cpp) counts down and throws bad_alloc; off unless asked for.
#pragma once

namespace unisono::engine {

enum class FailingThread {
  caller,                                   // the thread that asked
  engine,                                   // any engine's own thread
};

// Allocations go through until `after` of them have been made; then `count` of them fail.
class FailingNew {
 public:
  FailingNew(FailingThread who, int after, int count);
  ~FailingNew() { stop(); }
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;

  // Whether one has failed.
  bool struck() const;
  static void stop();
};

}  // namespace unisono::engine
