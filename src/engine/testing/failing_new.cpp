// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/testing/failing_new.hpp"

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

enum : int { kOff = 0, kCaller = 1, kEngine = 2 };
std::atomic<int> g_who{kOff};
std::atomic<long> g_left{0};                // allocations until the first that fails
std::atomic<long> g_count{0};               // how many fail
thread_local bool t_caller = false;

bool concerned(int who) {
  if (who == kCaller) return t_caller;
  char name[16] = "";
  ::pthread_getname_np(::pthread_self(), name, sizeof name);
  return std::strcmp(name, "unisono-engine") == 0;
}

bool strikes() {
  const int who = g_who.load(std::memory_order_relaxed);
  if (who == kOff || !concerned(who)) return false;
  const long before = g_left.fetch_sub(1, std::memory_order_relaxed);
  return before <= 0 && -before < g_count.load(std::memory_order_relaxed);
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (strikes()) return nullptr;
  bytes = bytes == 0 ? 1 : bytes;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, 1); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 1); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, 1);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace unisono::engine {

FailingNew::FailingNew(FailingThread who, int after, int count) {
  t_caller = who == FailingThread::caller;
  g_left.store(after);
  g_count.store(count);
  g_who.store(who == FailingThread::caller ? kCaller : kEngine);
}

bool FailingNew::struck() const { return g_left.load() < 0; }

void FailingNew::stop() {
  g_who.store(kOff);
  t_caller = false;
}

}  // namespace unisono::engine
