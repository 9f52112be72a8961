// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How many cores this process may really use: the affinity mask cut by the cgroup's quota.
#pragma once

namespace unisono {

int usable_cores();
// Tells the core that this thread spins, which helps its sibling hyper-thread and saves power.
inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}
void name_this_thread(const char* name);  // at most 15 characters

}  // namespace unisono
