// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/wiring.hpp"

#include <cstdlib>

#include "base/data/text.hpp"
#include "encode/codec.hpp"

namespace unisono::engine {

rendezvous::Lookup process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Result<std::unique_ptr<plan::Planner>> wire_planner(const Options& options) {
  auto planner = plan::make_planner(options.planner, {options.fusion_bytes, options.fuse_groups});
  if (planner == nullptr) {
    return Status(Code::invalid_argument, cat("there is no planner '", options.planner, "'"));
  }
  return planner;
}

submit::CodecChoice wire_codecs(const Options& options) {
  submit::CodecChoice choice{.usual = options.codec, .planned = options.plan_codecs,
                             .teams = options.teams, .rules = {}};
  // The options have been validated.
  if (auto rules = CodecRules::parse(options.codec_rules); rules.ok()) choice.rules = *rules;
  return choice;
}

}  // namespace unisono::engine
