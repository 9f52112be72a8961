// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/codec/rules.hpp"

#include <algorithm>
#include <utility>

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

Result<std::vector<CodecSpec>> parse_plan_codecs(std::string_view list) {
  std::vector<CodecSpec> out;
  for (const std::string_view text : split_list(list)) {
    const auto parsed = parse_codec(text);
    if (text.empty() || !parsed.ok()) {
      return Status(Code::invalid_argument, cat("unknown codec '", text, "' in plan_codecs; ",
                                                text.empty() ? "there is a comma too much"
                                                             : parsed.status().message()));
    }
    const CodecSpec& codec = parsed.value();
    if (codec.feedback || codec.clip != 0 || codec.pick != CodecPick::all ||
        codec.form == CodecForm::powersgd) {
      return Status(Code::invalid_argument,
                    cat("codec '", text, "' in plan_codecs does not send all of a tensor, and a plan "
                        "may change its mind in every step; give fp16, bf16, fp8 or qsgd, and name "
                        "others with codec or codec_rules"));
    }
    const bool listed = std::find(out.begin(), out.end(), codec) != out.end();
    if (codec != CodecSpec{} && !listed) out.push_back(codec);
  }
  std::sort(out.begin(), out.end(), [](const CodecSpec& a, const CodecSpec& b) {
    return std::pair(a.form, -a.bits) < std::pair(b.form, -b.bits);
  });
  return out;
}

const CodecSpec* CodecRules::find(std::string_view name) const {
  for (const CodecRule& rule : rules_) {
    if (matches(rule.pattern, name)) return &rule.codec;
  }
  return nullptr;
}

}  // namespace unisono
