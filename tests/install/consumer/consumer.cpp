// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A job of one through the installed library: prints "ok" when the sum is right.
#include <cstdio>
#include <vector>

#include "unisono/unisono.hpp"

int main() {
  auto engine = unisono::Engine::join();
  if (!engine) return std::puts(engine.status().message().c_str()), 1;
  std::vector<float> gradient = {1.0f, 2.0f};
  unisono::Settings settings;
  settings.op = unisono::ReduceOp::sum;
  const auto ticket = engine->allreduce<float>("gradient", gradient, settings);
  if (const auto status = ticket.wait(); !status) return std::puts(status.message().c_str()), 1;
  if (gradient[1] != 2.0f * static_cast<float>(engine->size())) return std::puts("wrong sum"), 1;
  return std::puts("ok"), 0;
}
