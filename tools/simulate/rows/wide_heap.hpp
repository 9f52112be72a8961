// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace unisono::tools {

// Has the heap of this process lie in huge pages where the system lets programs ask for them. What
// tens of thousands of ranks remember is touched all over the place, and a fifth of the time of
// such a simulation goes into finding pages. Takes addresses, not memory, and does nothing the
// second time. Thread: one; the process has no other yet.
void widen_heap();

}  // namespace unisono::tools
