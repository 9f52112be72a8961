// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A programmer's mistake ends the process in every build; an operating fault is a Status.
#pragma once

namespace unisono {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}

#define UNISONO_CHECK(condition) \
  ((condition) ? (void)0 : ::unisono::check_failed(#condition, __FILE__, __LINE__))
