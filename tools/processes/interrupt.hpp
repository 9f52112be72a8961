// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM as a number that loops look at, so that workers are ended in good order.
#pragma once

namespace unisono::tools {

void watch_for_interrupt();
// The signal that arrived, or 0.
int interrupted();

}  // namespace unisono::tools
