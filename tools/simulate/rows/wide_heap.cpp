// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/rows/wide_heap.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace unisono::tools {
namespace {

constexpr std::uintptr_t kHugePage = std::uintptr_t{2} << 20;
constexpr std::size_t kProbe = 96 << 10;  // below what malloc() maps by itself
constexpr int kProbesMax = 64;

std::uintptr_t heap_end() { return reinterpret_cast<std::uintptr_t>(::sbrk(0)); }

}  // namespace

void widen_heap() {
#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
  static bool wide = false;
  if (wide) return;
  wide = true;
  // The next time that malloc() asks for more it asks for much at once, which is then advised.
  const std::uintptr_t begin = heap_end();
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  ::mallopt(M_TOP_PAD, std::numeric_limits<int>::max() & ~0xFFFF);
  void* probes[kProbesMax] = {};
  for (int i = 0; i < kProbesMax && heap_end() == begin; ++i) probes[i] = std::malloc(kProbe);
  for (void* probe : probes) std::free(probe);
  ::mallopt(M_TOP_PAD, 1 << 20);
  const std::uintptr_t from = (begin + kHugePage - 1) & ~(kHugePage - 1);
  const std::uintptr_t to = heap_end() & ~(kHugePage - 1);
  if (to > from) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
#endif
}

}  // namespace unisono::tools
