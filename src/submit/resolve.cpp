// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "submit/resolve.hpp"

namespace unisono::submit {

void resolve(Pending& pending, Status status, const ReleaseName& release) noexcept {
  release(pending.request);
  pending.finish(std::move(status));
}

}  // namespace unisono::submit
