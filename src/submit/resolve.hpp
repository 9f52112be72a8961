// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Ends an operation: frees the name, calls the callback, finishes the ticket; in that order, so
// that the callback and whoever wakes up may use the name again at once.
// Thread: the one that drives the engine.
#pragma once

#include <functional>

#include "model/pending.hpp"
#include "unisono/status.hpp"

namespace unisono::submit {

using ReleaseName = std::function<void(const Request&)>;

// pending is empty afterwards. An exception from the callback becomes the ticket's status.
// release does not throw.
void resolve(Pending& pending, Status status, const ReleaseName& release) noexcept;

}  // namespace unisono::submit
