// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// An explanation in words, for people. Pure; thread: any.
#pragma once

#include <string>

#include "unisono/explanation.hpp"

namespace unisono::engine {

std::string explain_text(const Explanation& explanation);

}  // namespace unisono::engine
