// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/codec/measure.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "base/data/text.hpp"
#include "bench/buffer.hpp"
#include "bench/measure.hpp"
#include "encode/packet/packet_codec.hpp"
#include "encode/packet/source.hpp"
#include "kernels/kernels.hpp"
#include "opt/job/random.hpp"

namespace unisono::tools {
namespace {

// The sum of four uniform numbers is near enough to a normal one, and needs no functions that
// differ from machine to machine.
void fill_normal(std::span<float> values, std::uint64_t seed) {
  opt::Random random(seed);
  constexpr float kSpread = 1.7320508F;     // of a sum of four, over one
  for (float& value : values) {
    const std::uint64_t bits = random.next();
    float sum = -2;
    for (int i = 0; i < 4; ++i) {
      sum += static_cast<float>((bits >> (16 * i)) & 0xFFFF) / 65536;
    }
    value = sum * kSpread;
  }
}

// As square as powers of two allow, for codecs that take a tensor as a matrix.
Shape matrix_of(std::uint64_t length) {
  std::uint64_t rows = std::uint64_t{1} << (static_cast<unsigned>(std::bit_width(length)) / 2);
  while (length % rows != 0) rows /= 2;
  return {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(length / rows)};
}

double norm_of(std::span<const float> values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares);
}

struct CodecWay {
  std::unique_ptr<encode::PacketCodec> codec;
  encode::TensorMemory memory;
  std::vector<std::byte> packet;
  CodecBenchRow row;
};

class CodecTurns {
 public:
  CodecTurns(const CodecBenchSettings& settings, std::uint64_t length, std::size_t number,
             const CodecProgress& progress)
      : settings_(settings), length_(length), number_(number), progress_(progress),
        bytes_(length * size_of(settings.dtype)), tensor_(bytes_), negated_(bytes_), copy_(bytes_),
        given_(length), accumulator_(length), shape_(matrix_of(length)) {
    fill_normal(given_, settings.seed);
    cast(given_, tensor_);
    for (float& value : given_) value = -value;
    cast(given_, negated_);
    // What codecs see: the same after a round trip through the dtype.
    std::vector<float> scratch;
    const float* seen = encode::as_float32(source(tensor_), 1, scratch);
    std::copy(seen, seen + length, given_.begin());
  }

  Result<std::vector<CodecBenchRow>> run() {
    for (const std::string& text : settings_.codecs) {
      auto spec = parse_codec(text);
      if (!spec) return spec.status();
      CodecWay& way = ways_.emplace_back();
      way.codec = encode::make_packet_codec(*spec);
      way.row.codec = text;
      way.row.length = length_;
      way.row.bytes = bytes_;
      if (Status bad = check(way); !bad.ok()) {
        return Status(bad.code(), cat("codec ", text, ": ", bad.message()));
      }
      show(text);
    }
    for (int turn = 0; turn < settings_.repeat; ++turn) {
      copies_us_.push_back(timed([&] {
        std::memcpy(copy_.span().data(), tensor_.span().data(), bytes_);
      }));
      for (std::size_t i = 0; i < ways_.size(); ++i) {
        CodecWay& way = ways_[(i + static_cast<std::size_t>(turn)) % ways_.size()];
        if (Status bad = take_turn(way); !bad.ok()) return bad;
        ++done_;
        show(way.row.codec);
      }
    }
    std::vector<CodecBenchRow> rows;
    for (CodecWay& way : ways_) {
      way.row.memcpy_us = quantile(copies_us_, 0.5);
      way.row.bytes_out = way.packet.size();
      rows.push_back(std::move(way.row));
    }
    return rows;
  }

 private:
  encode::Source source(const Buffer& of) const {
    return {.tensor = "bench", .dtype = settings_.dtype, .elements = of.span().data(),
            .count = length_, .shape = shape_};
  }
  void cast(std::span<const float> values, const Buffer& into) const {
    kernels::cast(settings_.dtype, into.span().data(), DType::f32, values.data(), values.size());
  }
  template <typename F>
  double timed(const F& what) const {
    const Time begin = clock_.now();
    what();
    return 1e6 * nanos_to_seconds(clock_.now() - begin);
  }

  Status take_turn(CodecWay& way) {
    Status encoded, decoded;
    // The first packet had the tensor itself. Signs change from then on, or what is kept would grow
    // from turn to turn, as no gradient's does.
    const encode::Source now = source(way.row.encode_us.size() % 2 == 0 ? negated_ : tensor_);
    way.row.encode_us.push_back(
        timed([&] { encoded = way.codec->encode(now, way.memory, way.packet); }));
    if (!encoded.ok()) return encoded;
    way.row.decode_us.push_back(
        timed([&] { decoded = way.codec->decode_add(way.packet, shape_, accumulator_); }));
    return decoded;
  }

  // The first packet, with nothing kept before it.
  Status check(CodecWay& way) {
    if (Status bad = way.codec->encode(source(tensor_), way.memory, way.packet);
        !bad.ok()) {
      return bad;
    }
    std::fill(accumulator_.begin(), accumulator_.end(), 0.0F);
    if (Status bad = way.codec->decode_add(way.packet, shape_, accumulator_); !bad.ok()) return bad;
    const CodecSpec& spec = way.codec->spec();
    const bool plain = spec.clip == 0 && spec.momentum == 0;
    const bool exact = plain && spec.form == CodecForm::none && spec.pick == CodecPick::all;
    // What rounding takes from a sum of what was sent and what was kept.
    const bool keeps = plain && spec.feedback && !spec.feedback_of_picks;
    constexpr double kRounding = 1e-5;
    double squares = 0;
    for (std::size_t i = 0; i < length_; ++i) {
      const double lost = double{given_[i]} - accumulator_[i];
      squares += lost * lost;
      const double kept = keeps && !way.memory.residual.empty() ? way.memory.residual[i] : 0;
      if ((exact && lost != 0) || (keeps && !(std::abs(lost - kept) <= kRounding))) {
        return Status(Code::corrupted, cat("element ", i, " of ", length_, " is ", accumulator_[i],
                                           keeps ? cat(", of which ", kept, " is kept,") : "",
                                           " instead of ", given_[i]));
      }
    }
    const double all = norm_of(given_);
    way.row.error = all > 0 ? std::sqrt(squares) / all : 0;
    if (!std::isfinite(way.row.error)) {
      return Status(Code::corrupted, "what came out is not a number");
    }
    way.row.checked = true;
    return {};
  }

  void show(const std::string& now) {
    const double all = static_cast<double>(settings_.repeat) *
                       static_cast<double>(settings_.codecs.size());
    const auto sizes = static_cast<double>(settings_.lengths.size());
    if (progress_) progress_((static_cast<double>(number_) + done_ / all) / sizes, now);
  }

  const CodecBenchSettings& settings_;
  const std::uint64_t length_;
  const std::size_t number_;                 // of the size
  const CodecProgress& progress_;
  const std::size_t bytes_;
  Buffer tensor_, negated_, copy_;
  std::vector<float> given_, accumulator_;
  const Shape shape_;
  std::vector<CodecWay> ways_;
  std::vector<double> copies_us_;
  double done_ = 0;
  SteadyClock clock_;
};

}  // namespace

Result<std::vector<CodecBenchRow>> measure_codecs(const CodecBenchSettings& settings,
                                                  const CodecProgress& progress) {
  std::vector<CodecBenchRow> all;
  for (std::size_t i = 0; i < settings.lengths.size(); ++i) {
    auto rows = CodecTurns(settings, settings.lengths[i], i, progress).run();
    if (!rows) return rows.status();
    std::move(rows->begin(), rows->end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace unisono::tools
