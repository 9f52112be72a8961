// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Codecs as compositions: what happens to a gradient on its way to the others, stage by stage.
//
//   using namespace unisono::codec;
//   settings.codec = error_feedback() | topk{.bucket = 512, .k = 4} | qsgd{.bits = 4};
//   settings.codec = "ef|topk:512:4|qsgd:4";        // the same
//
// Stages stand in this order, each at most once: error_feedback, clip, momentum, warmup, one that
// picks elements (topk, topk_global, threshold), one that says how values travel (qsgd, fp8, fp16,
// bf16, powersgd, none). What makes no sense does not compile, and parse_codec() says where in the
// text it is and what to write instead; the numbers of stages are checked where a composition
// becomes text or a CodecSpec. Values; any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "unisono/export.hpp"
#include "unisono/status.hpp"

namespace unisono {

enum class CodecPick : std::uint8_t { all, bucket, global, threshold };
enum class CodecForm : std::uint8_t { none, fp16, bf16, fp8_e4m3, fp8_e5m2, qsgd, powersgd };

// A composition by its numbers; 0 where a stage is absent.
struct UNISONO_API CodecSpec {
  bool feedback = false;
  bool feedback_of_picks = false;           // ef:picked: what rounding took from picks is forgotten
  double clip = 0;
  double momentum = 0;
  std::uint32_t warmup = 0;                 // steps
  CodecPick pick = CodecPick::all;
  std::uint32_t bucket = 0, k = 0;          // pick = bucket
  double fraction = 0;                      // pick = global
  double threshold = 0;                     // pick = threshold
  CodecForm form = CodecForm::none;
  int bits = 0;                             // form = qsgd
  std::uint32_t rank = 0;                   // form = powersgd

  // Every element travels by itself and is reduced as it travels: none, fp16, bf16.
  bool is_cast() const {
    return !feedback && clip == 0 && pick == CodecPick::all && form <= CodecForm::bf16;
  }
  // The shortest text that parse_codec() reads as this.
  std::string text() const;
  friend bool operator==(const CodecSpec&, const CodecSpec&) = default;
};

struct CodecTraits {
  bool reducible = false;                   // the encoded form can be summed as it is
  bool unbiased = false;                    // decoded values are right on average
  bool exact_zero = false;                  // zero decodes to zero
  bool fixed_size = false;                  // the bytes follow from the shape alone
  bool needs_feedback = false;              // converges badly without ef
  friend bool operator==(const CodecTraits&, const CodecTraits&) = default;
};
constexpr CodecTraits traits_of(const CodecSpec& spec) {
  const bool picks = spec.pick != CodecPick::all, low_rank = spec.form == CodecForm::powersgd;
  const bool exact = spec.form == CodecForm::none, random = spec.form == CodecForm::qsgd;
  return {.reducible = !picks && (spec.form <= CodecForm::bf16 || low_rank),
          .unbiased = !picks && spec.clip == 0 && (exact || random),
          .exact_zero = !low_rank,
          .fixed_size = spec.pick != CodecPick::threshold && spec.warmup == 0,
          .needs_feedback = picks || low_rank};
}

// The error names the position in the text, the reason, and what to write instead.
UNISONO_API Result<CodecSpec> parse_codec(std::string_view text);
// Whether the numbers of a spec are allowed, and its stages fit each other.
UNISONO_API Status check_codec(const CodecSpec& spec);

namespace codec {

enum class Place : std::uint8_t { feedback, clip, momentum, warmup, pick, form };

// Adds what was not sent to the next step's gradient. of_picks: what was sent counts as if it had
// not been rounded.
struct ef {
  static constexpr Place place = Place::feedback;
  bool of_picks = false;
  constexpr void apply(CodecSpec& s) const { s.feedback = true, s.feedback_of_picks = of_picks; }
};
constexpr ef error_feedback(bool of_picks = false) { return {of_picks}; }

// Scales a rank's own gradient down to this norm, tensor by tensor.
struct clip {
  static constexpr Place place = Place::clip;
  double norm = 1;
  constexpr void apply(CodecSpec& s) const { s.clip = norm; }
};
// Momentum before picking, so that what is sent late is not stale; the optimizer then has none.
struct momentum {
  static constexpr Place place = Place::momentum;
  double factor = 0.9;
  constexpr void apply(CodecSpec& s) const { s.momentum = factor; }
};
// Picks a quarter of the elements at first, and half as many again and again within so many steps.
struct warmup {
  static constexpr Place place = Place::warmup;
  std::uint32_t steps = 1000;
  constexpr void apply(CodecSpec& s) const { s.warmup = steps; }
};
struct topk {
  static constexpr Place place = Place::pick;
  std::uint32_t bucket = 512, k = 4;
  constexpr void apply(CodecSpec& s) const { s.pick = CodecPick::bucket, s.bucket = bucket, s.k = k; }
};
struct topk_global {
  static constexpr Place place = Place::pick;
  double fraction = 0.01;
  constexpr void apply(CodecSpec& s) const { s.pick = CodecPick::global, s.fraction = fraction; }
};
struct threshold {
  static constexpr Place place = Place::pick;
  double magnitude = 0;
  constexpr void apply(CodecSpec& s) const { s.pick = CodecPick::threshold, s.threshold = magnitude; }
};
struct qsgd {
  static constexpr Place place = Place::form;
  int bits = 4;
  constexpr void apply(CodecSpec& s) const { s.form = CodecForm::qsgd, s.bits = bits; }
};
struct fp8 {
  static constexpr Place place = Place::form;
  bool wide = false;                        // e5m2 instead of e4m3
  constexpr void apply(CodecSpec& s) const {
    s.form = wide ? CodecForm::fp8_e5m2 : CodecForm::fp8_e4m3;
  }
};
struct fp16 {
  static constexpr Place place = Place::form;
  constexpr void apply(CodecSpec& s) const { s.form = CodecForm::fp16; }
};
struct bf16 {
  static constexpr Place place = Place::form;
  constexpr void apply(CodecSpec& s) const { s.form = CodecForm::bf16; }
};
struct powersgd {
  static constexpr Place place = Place::form;
  std::uint32_t rank = 2;
  constexpr void apply(CodecSpec& s) const { s.form = CodecForm::powersgd, s.rank = rank; }
};
struct none {
  static constexpr Place place = Place::form;
  constexpr void apply(CodecSpec&) const {}
};

template <typename T>
concept Stage = requires(const T& stage, CodecSpec& spec) {
  { T::place } -> std::convertible_to<Place>;
  stage.apply(spec);
};

// What stages of a composition there are, by their types.
template <Stage... S>
struct Stages {
  static constexpr bool has(Place place) { return ((S::place == place) || ...); }
  template <Stage T>
  static constexpr bool has_stage = (std::is_same_v<S, T> || ...);
  static constexpr Place last = [] {
    Place place{};
    ((place = S::place), ...);
    return place;
  }();
};

// Whether T may follow the stages S.
template <typename T, typename... S>
concept Follows =
    Stage<T> && (Stages<S...>::last < T::place) &&
    (T::place != Place::momentum || Stages<S...>::has(Place::feedback)) &&
    !std::is_same_v<T, none> &&
    !(std::is_same_v<T, threshold> && Stages<S...>::has(Place::warmup)) &&
    (T::place != Place::form || Stages<S...>::has(Place::pick) ||
     (!Stages<S...>::has(Place::momentum) && !Stages<S...>::has(Place::warmup))) &&
    !(std::is_same_v<T, powersgd> && Stages<S...>::has(Place::pick));
// Whether the stages say how a gradient travels.
template <typename... S>
concept Whole = (Stages<S...>::last >= Place::pick);

template <Stage... S>
struct Composition {
  std::tuple<S...> stages;

  constexpr CodecSpec spec() const {
    static_assert(Whole<S...>, "a composition ends with a stage that picks elements or says how "
                               "values travel, such as topk or qsgd");
    CodecSpec out;
    std::apply([&](const S&... stage) { (stage.apply(out), ...); }, stages);
    return out;
  }
  static constexpr bool whole = Whole<S...>;
  constexpr CodecTraits traits() const { return traits_of(spec()); }
  std::string text() const { return spec().text(); }
  operator std::string() const { return text(); }  // NOLINT: a setting is text
};

template <Stage A, Stage B>
  requires Follows<B, A>
constexpr Composition<A, B> operator|(A a, B b) {
  return {{a, b}};
}
template <Stage... A, Stage B>
  requires Follows<B, A...>
constexpr Composition<A..., B> operator|(Composition<A...> a, B b) {
  return {std::tuple_cat(a.stages, std::tuple(b))};
}
// Of one stage alone.
template <Stage A>
  requires Whole<A>
constexpr Composition<A> only(A a) {
  return {{a}};
}

}  // namespace codec
}  // namespace unisono
