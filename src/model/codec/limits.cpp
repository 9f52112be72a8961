// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/codec/limits.hpp"

#include <charconv>
#include <cmath>

#include "base/data/text.hpp"

namespace unisono {
namespace {

// So that it reads back as the same number.
std::string shortest(double number) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  return {buffer, end};
}

std::string pick_text(const CodecSpec& spec) {
  switch (spec.pick) {
    case CodecPick::all: return {};
    case CodecPick::bucket: return cat("topk:", spec.bucket, ":", spec.k);
    case CodecPick::global: return cat("topk:global:", shortest(spec.fraction));
    case CodecPick::threshold: return cat("threshold:", shortest(spec.threshold));
  }
  return {};
}

std::string form_text(const CodecSpec& spec) {
  switch (spec.form) {
    case CodecForm::none: return {};
    case CodecForm::fp16: return "fp16";
    case CodecForm::bf16: return "bf16";
    case CodecForm::fp8_e4m3: return "fp8:e4m3";
    case CodecForm::fp8_e5m2: return "fp8:e5m2";
    case CodecForm::qsgd: return cat("qsgd:", spec.bits);
    case CodecForm::powersgd: return cat("powersgd:", spec.rank);
  }
  return {};
}

bool positive(double number) { return std::isfinite(number) && number > 0; }

}  // namespace

std::optional<WrongNumber> wrong_number(const CodecSpec& spec) {
  if (spec.clip != 0 && !positive(spec.clip)) {
    return WrongNumber{"clip", cat("no gradient has the norm ", spec.clip),
                       "write a norm above 0, such as clip:1"};
  }
  if (spec.momentum != 0 && !(spec.momentum > 0 && spec.momentum < 1)) {
    return WrongNumber{"momentum", cat("the factor is ", spec.momentum),
                       "write one between 0 and 1, such as momentum:0.9"};
  }
  if (spec.pick == CodecPick::bucket &&
      (spec.k < 1 || spec.k > spec.bucket || spec.bucket > kCodecBucketMax)) {
    return WrongNumber{"topk", cat(spec.k, " of ", spec.bucket, " elements cannot be picked"),
                       cat("write topk:BUCKET:K with 1 <= K <= BUCKET <= ", kCodecBucketMax)};
  }
  if (spec.pick == CodecPick::global && !(spec.fraction > 0 && spec.fraction <= 1)) {
    return WrongNumber{"topk", cat("the fraction is ", spec.fraction),
                       "write one above 0 and up to 1, such as topk:global:0.01"};
  }
  // Kept in float32, as the elements that are compared with it.
  if (spec.pick == CodecPick::threshold &&
      !positive(static_cast<double>(static_cast<float>(spec.threshold)))) {
    return WrongNumber{"threshold", cat("the magnitude is ", spec.threshold),
                       "write one above 0 that float32 can hold"};
  }
  if (spec.form == CodecForm::qsgd && spec.bits != 2 && spec.bits != 4 && spec.bits != 8) {
    return WrongNumber{"qsgd", cat("there are no codes of ", spec.bits, " bits"),
                       "write qsgd:2, qsgd:4 or qsgd:8"};
  }
  if (spec.form == CodecForm::powersgd && (spec.rank < 1 || spec.rank > kCodecRankMax)) {
    return WrongNumber{"powersgd", cat("the rank is ", spec.rank),
                       cat("write one from 1 to ", kCodecRankMax)};
  }
  return std::nullopt;
}

Status check_codec(const CodecSpec& spec) {
  if (auto wrong = wrong_number(spec)) {
    return Status(Code::invalid_argument,
                  cat("codec '", spec.text(), "': ", wrong->why, "; ", wrong->mend));
  }
  return parse_codec(spec.text()).status();
}

std::string CodecSpec::text() const {
  std::string out;
  const auto add = [&](const std::string& stage) {
    if (stage.empty()) return;
    if (!out.empty()) out += '|';
    out += stage;
  };
  if (feedback) add(feedback_of_picks ? "ef:picked" : "ef");
  if (clip != 0) add(cat("clip:", shortest(clip)));
  if (momentum != 0) add(cat("momentum:", shortest(momentum)));
  if (warmup != 0) add(cat("warmup:", warmup));
  add(pick_text(*this));
  add(form_text(*this));
  return out.empty() ? "none" : out;
}

}  // namespace unisono
