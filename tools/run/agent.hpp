// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// `unisono __agent`: what `unisono run` starts on another host through ssh. It takes its orders
// from standard input, starts that host's ranks, sends what they print and how they end, and ends
// them all when standard input closes. Not for people; not part of the command's interface.
#pragma once

namespace unisono::tools {

int serve_as_agent();

}  // namespace unisono::tools
