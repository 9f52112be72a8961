// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The only place that names concrete parts: options in, parts out.
#pragma once

#include <memory>

#include "rendezvous/bootstrap/join.hpp"
#include "plan/planner.hpp"
#include "submit/front_door.hpp"
#include "unisono/options.hpp"

namespace unisono::engine {

rendezvous::Lookup process_environment();
Result<std::unique_ptr<plan::Planner>> wire_planner(const Options& options);
// Valid as long as the options live.
submit::CodecChoice wire_codecs(const Options& options);

}  // namespace unisono::engine
