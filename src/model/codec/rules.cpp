// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/codec/rules.hpp"

#include "base/data/text.hpp"
#include "model/options/option_values.hpp"

namespace unisono {

bool is_made_up(std::string_view name) {
  return name.find(".noname.") != std::string_view::npos;
}

bool matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      // The last star takes one character more.
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Result<CodecRules> CodecRules::parse(std::string_view text) {
  CodecRules out;
  if (trim(text).empty()) return out;
  for (const std::string_view rule : split_list(text)) {
    const std::size_t equals = rule.find('=');
    const std::string_view pattern = trim(rule.substr(0, equals));
    if (equals == std::string_view::npos || pattern.empty()) {
      return Status(Code::invalid_argument,
                    cat("codec_rules: '", rule, "' is not a rule; write PATTERN=CODEC, such as "
                        "*.bias=none"));
    }
    auto codec = parse_codec(trim(rule.substr(equals + 1)));
    if (!codec.ok()) {
      return Status(Code::invalid_argument,
                    cat("codec_rules, '", pattern, "': ", codec.status().message()));
    }
    out.rules_.push_back({std::string(pattern), codec.value()});
  }
  return out;
}

const CodecSpec* CodecRules::find(std::string_view name) const {
  for (const CodecRule& rule : rules_) {
    if (matches(rule.pattern, name)) return &rule.codec;
  }
  return nullptr;
}

}  // namespace unisono
