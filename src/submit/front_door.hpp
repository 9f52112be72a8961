// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The front door: turns what a caller asks for into a Request, or says what is wrong with it.
// Pure: any thread, no state. Everything that one rank can know alone is checked here, so that
// the other ranks are never bothered with it.
#pragma once

#include "model/members.hpp"
#include "model/request.hpp"
#include "unisono/status.hpp"
#include "unisono/unisono.hpp"

namespace unisono {

// members is the process set named in the settings; null when there is no such set.
Result<Request> make_request(const Operation& operation, const Settings& settings,
                             const Members* members);

}  // namespace unisono
