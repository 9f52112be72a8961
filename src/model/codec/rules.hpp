// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which tensors take which codec, by their names: "*.bias=none,conv*=ef|topk:512:8". In a pattern
// * stands for any characters and ? for one; the first that fits the whole name counts.
// A value; thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "unisono/codec.hpp"

namespace unisono {

struct CodecRule {
  std::string pattern;
  CodecSpec codec;
};

class CodecRules {
 public:
  // The error names the rule and what is wrong with it. "" is no rules.
  static Result<CodecRules> parse(std::string_view text);

  // Null where no rule fits.
  const CodecSpec* find(std::string_view name) const;
  bool empty() const { return rules_.empty(); }

 private:
  std::vector<CodecRule> rules_;
};

// The codecs of a list that plans choose among for their buckets, each once, in one order, without
// none. A plan may choose another one in any step, so all elements must travel and nothing be kept:
// fp16, bf16, fp8 and qsgd. The error names the codec.
Result<std::vector<CodecSpec>> parse_plan_codecs(std::string_view list);

// Whether the name was made up because the caller gave none; another one comes with every call.
bool is_made_up(std::string_view name);

bool matches(std::string_view pattern, std::string_view name);

}  // namespace unisono
