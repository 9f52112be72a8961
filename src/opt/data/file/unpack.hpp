// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Unpacks gzip where the build has zlib; says so where it has not. Pure.
#pragma once

#include <functional>
#include <string_view>

#include "unisono/status.hpp"

namespace unisono::opt {

// Gives the text piece by piece, until it ends or `take` returns false. A file may hold several
// members of gzip one after the other. corrupted: it is damaged or cut off; unavailable: no zlib.
Status unpack(std::string_view packed, const std::function<bool(std::string_view)>& take);

}  // namespace unisono::opt
