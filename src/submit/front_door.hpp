// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Turns what a caller asks for into a Request, or returns what is wrong with it.
// Pure: any thread, no state. Everything that one rank can check alone is checked here, so that
// invalid calls never reach the other ranks.
#pragma once

#include <string_view>
#include <vector>

#include "model/members.hpp"
#include "model/request.hpp"
#include "unisono/status.hpp"
#include "model/codec/rules.hpp"
#include "unisono/unisono.hpp"

namespace unisono::submit {

// The codecs this engine has, and the one for calls that name none.
struct CodecChoice {
  std::string_view usual = "none";
  std::string_view planned = "none";    // those that plans may choose, for calls that do not say
  std::int64_t teams = 1;               // that a call may name
  CodecRules rules = {};                // for calls that name none, before the usual one
};

// Names with this prefix are reserved for the engine: a caller's tensor could collide with one.
inline constexpr std::string_view kReservedPrefix = "unisono.";

// Returns ok when a caller may submit() this operation: tensors and barriers under names that are
// not reserved. Operations that change the job itself (process sets, join, the order) have calls of
// their own.
Status check_open_to_callers(const Operation& operation);

// members is the process set named in the settings; null when there is no such set.
Result<Request> make_request(const Operation& operation, const Settings& settings,
                             const Members* members, const CodecChoice& codecs = {});

}  // namespace unisono::submit
