// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The text of a codec: stages between bars, each a word and its numbers between colons.
#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <vector>

#include "base/data/text.hpp"
#include "model/codec/limits.hpp"
#include "model/options/option_values.hpp"
#include "unisono/codec.hpp"

namespace unisono {
namespace {

using codec::Place;

// A stage as it is written: where it begins, its word and its arguments.
struct Words {
  std::size_t at = 0;
  std::string_view word;
  std::vector<std::string_view> arguments;
  std::vector<std::size_t> places;          // of the arguments in the whole text
};

struct Reading {
  std::string_view text;
  CodecSpec spec;
  std::vector<std::pair<Place, std::string_view>> seen;

  bool has(Place place) const {
    return std::any_of(seen.begin(), seen.end(), [&](const auto& s) { return s.first == place; });
  }
  Status refuse(std::size_t at, std::string_view why, std::string_view mend) const {
    return Status(Code::invalid_argument,
                  cat("codec '", text, "', character ", at + 1, ": ", why, "; ", mend));
  }
};

template <typename T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Status count_arguments(const Reading& in, const Words& words, std::size_t least, std::size_t most,
                       std::string_view form) {
  if (words.arguments.size() >= least && words.arguments.size() <= most) return {};
  return in.refuse(words.at, cat("'", words.word, "' has ", words.arguments.size(),
                                 words.arguments.size() == 1 ? " number" : " numbers"),
                   cat("write ", form));
}

Status read_real(const Reading& in, const Words& words, std::size_t i, std::string_view form,
                 double& out) {
  const auto value = parse_number(words.arguments[i]);
  if (!value) {
    return in.refuse(words.places[i], cat("'", words.arguments[i], "' is not a number"),
                     cat("write ", form));
  }
  out = *value;
  return {};
}

template <typename T>
Status read_count(const Reading& in, const Words& words, std::size_t i, std::string_view form,
                  T& out) {
  const auto value = whole_number<T>(words.arguments[i]);
  if (!value) {
    return in.refuse(words.places[i], cat("'", words.arguments[i], "' is not a whole number"),
                     cat("write ", form));
  }
  out = *value;
  return {};
}

Status refuse_zero(const Reading& in, const Words& words, bool zero) {
  if (!zero) return {};
  return in.refuse(words.places[0], cat("'", words.word, "' of 0 does nothing"),
                   "write a number above 0, or leave it out");
}

Status read_feedback(Reading& in, const Words& words) {
  if (auto status = count_arguments(in, words, 0, 1, "ef or ef:picked"); !status) return status;
  in.spec.feedback = true;
  if (words.arguments.empty()) return {};
  if (words.arguments[0] != "picked") {
    return in.refuse(words.places[0], cat("ef has no variant '", words.arguments[0], "'"),
                     "write ef or ef:picked");
  }
  in.spec.feedback_of_picks = true;
  return {};
}

template <auto kMember>
Status read_one_real(Reading& in, const Words& words) {
  const std::string form = cat(words.word, ":NUMBER");
  if (auto status = count_arguments(in, words, 1, 1, form); !status) return status;
  if (auto status = read_real(in, words, 0, form, in.spec.*kMember); !status) return status;
  return refuse_zero(in, words, in.spec.*kMember == 0);
}

Status read_warmup(Reading& in, const Words& words) {
  if (auto status = count_arguments(in, words, 1, 1, "warmup:STEPS"); !status) return status;
  if (auto status = read_count(in, words, 0, "warmup:STEPS", in.spec.warmup); !status) {
    return status;
  }
  return refuse_zero(in, words, in.spec.warmup == 0);
}

constexpr std::string_view kTopkForm = "topk:BUCKET:K, such as topk:512:4, or topk:global:FRACTION";

Status read_topk(Reading& in, const Words& words) {
  if (auto status = count_arguments(in, words, 2, 2, kTopkForm); !status) return status;
  if (words.arguments[0] == "global") {
    in.spec.pick = CodecPick::global;
    return read_real(in, words, 1, "topk:global:FRACTION", in.spec.fraction);
  }
  in.spec.pick = CodecPick::bucket;
  if (auto status = read_count(in, words, 0, kTopkForm, in.spec.bucket); !status) return status;
  return read_count(in, words, 1, kTopkForm, in.spec.k);
}

Status read_threshold(Reading& in, const Words& words) {
  in.spec.pick = CodecPick::threshold;
  return read_one_real<&CodecSpec::threshold>(in, words);
}

Status read_qsgd(Reading& in, const Words& words) {
  in.spec.form = CodecForm::qsgd;
  constexpr std::string_view form = "qsgd:2, qsgd:4 or qsgd:8";
  if (auto status = count_arguments(in, words, 1, 2, form); !status) return status;
  if (auto status = read_count(in, words, 0, form, in.spec.bits); !status) return status;
  if (words.arguments.size() == 2 && words.arguments[1] != "1024") {
    return in.refuse(words.places[1], "scales are shared by buckets of 1024 elements",
                     cat("write qsgd:", in.spec.bits));
  }
  return {};
}

Status read_fp8(Reading& in, const Words& words) {
  constexpr std::string_view form = "fp8:e4m3 or fp8:e5m2";
  if (auto status = count_arguments(in, words, 0, 1, form); !status) return status;
  const std::string_view kind = words.arguments.empty() ? "e4m3" : words.arguments[0];
  if (kind != "e4m3" && kind != "e5m2") {
    return in.refuse(words.places[0], cat("there is no 8-bit float '", kind, "'"),
                     cat("write ", form));
  }
  in.spec.form = kind == "e4m3" ? CodecForm::fp8_e4m3 : CodecForm::fp8_e5m2;
  return {};
}

Status read_powersgd(Reading& in, const Words& words) {
  in.spec.form = CodecForm::powersgd;
  if (auto status = count_arguments(in, words, 1, 1, "powersgd:RANK"); !status) return status;
  return read_count(in, words, 0, "powersgd:RANK", in.spec.rank);
}

template <CodecForm kForm>
Status read_plain(Reading& in, const Words& words) {
  in.spec.form = kForm;
  return count_arguments(in, words, 0, 0, words.word);
}

struct StageRow {
  std::string_view word;
  Place place;
  Status (*read)(Reading&, const Words&);
};
constexpr std::array kStages = {
    StageRow{"ef", Place::feedback, read_feedback},
    StageRow{"clip", Place::clip, read_one_real<&CodecSpec::clip>},
    StageRow{"momentum", Place::momentum, read_one_real<&CodecSpec::momentum>},
    StageRow{"warmup", Place::warmup, read_warmup},
    StageRow{"topk", Place::pick, read_topk},
    StageRow{"threshold", Place::pick, read_threshold},
    StageRow{"qsgd", Place::form, read_qsgd},
    StageRow{"fp8", Place::form, read_fp8},
    StageRow{"fp16", Place::form, read_plain<CodecForm::fp16>},
    StageRow{"bf16", Place::form, read_plain<CodecForm::bf16>},
    StageRow{"powersgd", Place::form, read_powersgd},
    StageRow{"none", Place::form, read_plain<CodecForm::none>},
};

Status unknown(const Reading& in, const Words& words) {
  if (words.word.empty()) return in.refuse(words.at, "a stage is missing", "remove the bar");
  std::array<std::string_view, kStages.size()> known;
  std::transform(kStages.begin(), kStages.end(), known.begin(),
                 [](const StageRow& row) { return row.word; });
  const std::string_view near = nearest(words.word, known);
  return in.refuse(words.at, cat("there is no stage '", words.word, "'"),
                   cat(near.empty() ? "" : cat("did you mean '", near, "'? "), "The stages are ",
                       join_text(known)));
}

// What the stages before it allow.
Status check_place(const Reading& in, const Words& words, Place place) {
  if (words.word == "none" && !in.seen.empty()) {
    return in.refuse(words.at, "none stands alone", "leave it out");
  }
  if (!in.seen.empty() && in.seen.back().first >= place) {
    const auto& [last, word] = in.seen.back();
    const std::string why = last == place
                                ? cat("'", words.word, "' and '", word, "' do the same")
                                : cat("'", words.word, "' comes after '", word, "'");
    return in.refuse(words.at, why, last == place ? "keep one of them" : "put it before that");
  }
  if (place == Place::momentum && !in.has(Place::feedback)) {
    return in.refuse(words.at, "momentum is corrected in what error feedback keeps",
                     "begin with ef");
  }
  if (words.word == "threshold" && in.has(Place::warmup)) {
    return in.refuse(words.at, "a threshold has no density that could be warmed up",
                     "leave warmup out, or pick with topk");
  }
  if (place == Place::form && !in.has(Place::pick)) {
    for (const Place needy : {Place::momentum, Place::warmup}) {
      if (in.has(needy)) {
        return in.refuse(words.at, cat(needy == Place::momentum ? "momentum" : "warmup",
                                       " needs a stage that picks elements"),
                         cat("put topk or threshold before '", words.word, "'"));
      }
    }
  }
  if (place == Place::form && in.spec.feedback_of_picks && !in.has(Place::pick)) {
    return in.refuse(words.at, "ef:picked keeps what was not picked, and nothing picks",
                     "write ef, or put topk before it");
  }
  if (words.word == "powersgd" && in.has(Place::pick)) {
    return in.refuse(words.at, "a low rank is of all elements of a matrix",
                     "leave out what picks some of them");
  }
  return {};
}

Status read_stage(Reading& in, const Words& words) {
  const auto row = std::find_if(kStages.begin(), kStages.end(),
                                [&](const StageRow& r) { return r.word == words.word; });
  if (row == kStages.end()) return unknown(in, words);
  if (auto status = check_place(in, words, row->place); !status) return status;
  if (auto status = row->read(in, words); !status) return status;
  if (auto wrong = wrong_number(in.spec); wrong && wrong->stage == row->word) {
    return in.refuse(words.at, wrong->why, wrong->mend);
  }
  in.seen.emplace_back(row->place, row->word);
  return {};
}

Words split_stage(std::string_view text, std::size_t begin, std::size_t end) {
  Words words;
  const auto blank = [&](std::size_t i) { return text[i] == ' ' || text[i] == '\t'; };
  while (begin < end && blank(begin)) ++begin;
  while (end > begin && blank(end - 1)) --end;
  words.at = begin;
  std::size_t colon = std::min(text.find(':', begin), end);
  words.word = text.substr(begin, colon - begin);
  while (colon < end) {
    const std::size_t from = colon + 1;
    colon = std::min(text.find(':', from), end);
    words.arguments.push_back(text.substr(from, colon - from));
    words.places.push_back(from);
  }
  return words;
}

}  // namespace

Result<CodecSpec> parse_codec(std::string_view text) {
  Reading in{text, {}, {}};
  if (trim(text).empty()) return in.spec;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t bar = std::min(text.find('|', at), text.size());
    if (auto status = read_stage(in, split_stage(text, at, bar)); !status) return status;
    at = bar + 1;
  }
  if (in.seen.back().first < Place::pick) {
    return in.refuse(text.size(), cat("nothing follows '", in.seen.back().second, "'"),
                     "end with a stage that picks elements or says how values travel, such as "
                     "topk:512:4 or qsgd:4");
  }
  return in.spec;
}

}  // namespace unisono
