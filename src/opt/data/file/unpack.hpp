// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Unpacks gzip where the build has zlib; says so where it has not. Pure.
#pragma once

#include <functional>
#include <string_view>

#include "unisono/status.hpp"

namespace unisono::opt {

// A piece of the text, and how many packed bytes are left after it. False: no more is wanted.
using TakeUnpacked = std::function<bool(std::string_view piece, std::size_t left)>;

// Gives the text piece by piece, until it ends or `take` returns false. A file may hold several
// members of gzip one after the other. corrupted: it is damaged or cut off; unavailable: no zlib.
Status unpack(std::string_view packed, const TakeUnpacked& take);

}  // namespace unisono::opt
