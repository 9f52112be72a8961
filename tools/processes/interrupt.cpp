// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "processes/interrupt.hpp"

#include <csignal>

namespace unisono::tools {
namespace {

// A signal belongs to the whole process, so this is one variable of it.
volatile std::sig_atomic_t g_arrived = 0;

}  // namespace

void watch_for_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int number) { g_arrived = number; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

int interrupted() { return g_arrived; }

}  // namespace unisono::tools
