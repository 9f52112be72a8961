// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The front door: turns what a caller asks for into a Request, or says what is wrong with it.
// Pure: any thread, no state. Everything that one rank can know alone is checked here, so that
// the other ranks are never bothered with it.
#pragma once

#include <string_view>
#include <vector>

#include "model/members.hpp"
#include "model/request.hpp"
#include "unisono/status.hpp"
#include "unisono/unisono.hpp"

namespace unisono::submit {

// The codecs this engine has, and the one for calls that do not say.
struct CodecChoice {
  std::vector<std::string_view> known = {"none"};
  std::string_view usual = "none";
};

// Names that begin so are the engine's own: a caller's tensor of such a name could meet one.
inline constexpr std::string_view kReservedPrefix = "unisono.";

// Whether a caller may ask for it with submit(): tensors and barriers under names that are not
// reserved. What changes the job itself (process sets, join, the order) has calls of its own.
Status check_open_to_callers(const Operation& operation);

// members is the process set named in the settings; null when there is no such set.
Result<Request> make_request(const Operation& operation, const Settings& settings,
                             const Members* members, const CodecChoice& codecs = {});

}  // namespace unisono::submit
