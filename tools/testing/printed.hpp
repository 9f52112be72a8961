// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What an action writes to standard output and standard error, through streams or descriptors.
// Thread: one. Not nested.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace unisono::tools {

struct Printed {
  std::string out, err;
};

template <typename Action>
Printed printed_by(const Action& action) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  action();
  Printed printed;
  printed.out = testing::internal::GetCapturedStdout();
  printed.err = testing::internal::GetCapturedStderr();
  return printed;
}

}  // namespace unisono::tools
