// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/loop/plan_costs.hpp"

#include <algorithm>

#include "encode/codec_rate.hpp"
#include "encode/packet/values.hpp"
#include "model/codec/rules.hpp"
#include "model/options/emulated_wire.hpp"
#include "model/options/option_values.hpp"
#include "plan/iteration/graph.hpp"

namespace unisono::engine {
namespace {

// Before anything was measured: what shared memory typically takes, at 4 GB/s.
constexpr double kMemoryLatency_s = 1e-5, kMemoryPerByte_s = 0.25e-9;

run::Selector::Prediction predict(const PlanCosts& costs, DType wire, std::int64_t bytes,
                                  bool encoded) {
  run::Selector::Prediction made;
  if (costs.selector != nullptr) {
    made = costs.selector->predict(
        {.dtype = wire, .bytes = static_cast<std::size_t>(bytes), .encoded = encoded});
  }
  if (made.seconds <= 0) {
    made.seconds = kMemoryLatency_s + kMemoryPerByte_s * static_cast<double>(bytes) +
                   parse_emulated_wire(costs.options.emulate)
                       ->seconds(static_cast<std::size_t>(bytes));
  }
  return made;
}

// Larger than what buffers on the way let through at once, smaller than what no longer fits caches, where
// long buckets do take longer for each byte.
constexpr std::int64_t kBurstMost = std::int64_t{1} << 20;

plan::PointsCost cost_of(const PlanCosts& costs, const run::MoveTimes& times,
                         const run::MoveTimes::Model& model) {
  std::vector<plan::PointsCost::Point> points;
  for (const auto& [bytes, seconds] : times.points(model)) points.push_back({bytes, seconds});
  if (costs.selector != nullptr) plan::charge_bursts(points, kBurstMost);
  return plan::PointsCost(std::move(points));
}

plan::PointsCost plain_cost(const PlanCosts& costs) {
  return cost_of(costs, costs.times, [&](std::int64_t bytes) {
    return predict(costs, DType::f32, bytes, false).seconds;
  });
}

plan::MethodCost as_they_are(std::shared_ptr<const PlanCosts> costs) {
  plan::MethodCost made;
  made.transfer = std::make_unique<plan::PointsCost>(plain_cost(*costs));
  made.algorithm = [costs](DType dtype, std::int64_t bytes) {
    auto found = predict(*costs, dtype, bytes, false);
    return plan::MethodCost::Algorithm{std::string(found.algorithm), std::move(found.reason)};
  };
  return made;
}

// A bucket is encoded when its channel takes it up, and decoded before the channel takes up the
// next one. So both are part of how long it keeps the channel busy, and of what is measured; before any
// was, it should take what a bucket of the encoded size does and the time of the codec.
plan::MethodCost encoded_by(std::shared_ptr<const PlanCosts> costs, const encode::Codec& codec,
                            DType dtype) {
  const DType wire = codec.wire_dtype(dtype);
  const auto wire_bytes = [&codec, dtype](std::int64_t bytes) {
    return static_cast<std::int64_t>(
        codec.wire_bytes(dtype, static_cast<std::size_t>(bytes) / size_of(dtype)));
  };
  const PlanCosts::CodecKey key{codec.name(), dtype};
  const double codec_s = costs->codec_per_byte(key);
  const plan::PointsCost plain = plain_cost(*costs);
  const auto model = [&](std::int64_t bytes) {
    const std::int64_t sent = wire_bytes(bytes);
    const double off = plain.seconds(sent) / predict(*costs, DType::f32, sent, false).seconds;
    return off * predict(*costs, wire, sent, true).seconds + codec_s * static_cast<double>(bytes);
  };
  static const run::MoveTimes kNothing;
  const auto known = costs->encoded.find(key);
  plan::MethodCost made;
  made.transfer = std::make_unique<plan::PointsCost>(
      cost_of(*costs, known == costs->encoded.end() ? kNothing : known->second, model));
  made.algorithm = [costs, wire, wire_bytes](DType, std::int64_t bytes) {
    auto found = predict(*costs, wire, wire_bytes(bytes), true);
    return plan::MethodCost::Algorithm{std::string(found.algorithm), std::move(found.reason)};
  };
  return made;
}

// Packed parts and packed sums are about what an allreduce of the packed bytes is; before it members
// ask each other twice, who takes part and whose tensors are numbers.
plan::MethodCost packed_by(std::shared_ptr<const PlanCosts> costs, const CodecSpec& codec,
                           DType dtype) {
  const encode::ValueForm form{codec.form, codec.bits};
  const PlanCosts::CodecKey key{codec.text(), dtype};
  const double codec_s = costs->codec_per_byte(key);
  const plan::PointsCost plain = plain_cost(*costs);
  const auto model = [&](std::int64_t bytes) {
    const auto sent = static_cast<std::int64_t>(
        form.bytes(static_cast<std::size_t>(bytes) / size_of(dtype)));
    return plain.seconds(sent) + 2 * predict(*costs, DType::i32, 8, false).seconds +
           codec_s * static_cast<double>(bytes);
  };
  static const run::MoveTimes kNothing;
  const auto known = costs->encoded.find(key);
  plan::MethodCost made;
  made.transfer = std::make_unique<plan::PointsCost>(
      cost_of(*costs, known == costs->encoded.end() ? kNothing : known->second, model));
  return made;
}

plan::CostsNow costs_now(std::shared_ptr<const PlanCosts> costs) {
  return [costs = std::move(costs)](std::string_view name, DType dtype) -> plan::MethodCost {
    if (name.empty()) return as_they_are(costs);
    if (!is_cast(name)) {
      const auto packed = parse_codec(name);
      return packed.ok() ? packed_by(costs, packed.value(), dtype) : plan::MethodCost{};
    }
    const encode::Codec* codec = encode::find_codec(name);
    if (codec == nullptr || codec->wire_dtype(dtype) == dtype) return {};
    return encoded_by(costs, *codec, dtype);
  };
}

}  // namespace

PlanCosts::PlanCosts(const Options& with, const Clock& clock) : options(with), clock_(clock) {
  if (options.deterministic) return;
  const auto codecs = parse_plan_codecs(options.plan_codecs);
  if (!codecs.ok()) return;
  for (const CodecSpec& codec : codecs.value()) codec_per_byte({codec.text(), DType::f32});
}

double PlanCosts::codec_per_byte(const CodecKey& key) const {
  const auto known = per_byte_.find(key);
  if (known != per_byte_.end()) return known->second;
  double found = 0;
  if (const encode::Codec* codec = encode::find_codec(key.first)) {
    found = encode::seconds_per_byte(*codec, key.second, clock_);
  } else if (const auto packed = parse_codec(key.first); packed.ok()) {
    found = encode::seconds_per_byte(packed.value(), key.second, clock_);
  }
  return per_byte_[key] = found;
}

void PlanCosts::note(const Bucket& bucket, Nanos busy, run::MoveTimes::Sample sample) {
  const std::string& codec = bucket.responses.front().method.codec;
  run::MoveTimes& noted = codec.empty() ? times : encoded[{codec, bucket.dtype}];
  noted.note(bucket.bytes, busy, sample);
}

std::shared_ptr<const IterationArranger> make_plan_arranger(const Options& options,
                                                            std::shared_ptr<const PlanCosts> costs,
                                                            std::size_t window_max,
                                                            std::uint32_t channels) {
  if (options.deterministic) return nullptr;
  plan::IterationSettings settings;
  settings.fusion_bytes = options.fusion_bytes;
  settings.channels = channels;
  if (window_max > 0) {
    settings.bucket_bytes_max = static_cast<std::int64_t>(
        std::min(window_max, static_cast<std::size_t>(INT64_MAX)));
  }
  return plan::make_arranger(options.planner, settings, costs_now(std::move(costs)));
}

}  // namespace unisono::engine
