// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "encode/packet/picks.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "encode/packet/packet_codec.hpp"
#include "kernels/kernels.hpp"
#include "kernels/pick/pick.hpp"

namespace unisono::encode {
namespace {

void make_room(Picks& out, std::size_t count) {
  out.indices.resize(count);
  out.values.resize(count);
}

// Momentum in place of the gradient: velocity = factor * velocity + gradient.
const float* with_momentum(double factor, const float* gradient, std::size_t count,
                           TensorMemory& memory) {
  if (memory.velocity.size() != count) memory.velocity.assign(count, 0.0F);
  const auto m = static_cast<float>(factor);
  for (std::size_t i = 0; i < count; ++i) {
    memory.velocity[i] = m * memory.velocity[i] + gradient[i];
  }
  return memory.velocity.data();
}

void pick_buckets(const CodecSpec& spec, const float* gradient, std::size_t count,
                  TensorMemory& memory, Picks& out) {
  out.k = static_cast<std::uint32_t>(picks_at(spec, spec.bucket, memory.steps));
  make_room(out, kernels::bucket_picks(count, spec.bucket, out.k));
  if (spec.feedback) {
    kernels::top_of_buckets_with_feedback(memory.residual.data(), gradient, count, spec.bucket,
                                          out.k, 0, out.indices.data(), out.values.data());
  } else {
    kernels::top_of_buckets(gradient, count, spec.bucket, out.k, 0, out.indices.data(),
                            out.values.data());
  }
}

void pick_global(const CodecSpec& spec, const float* gradient, std::size_t count,
                 TensorMemory& memory, Picks& out) {
  const std::size_t k = picks_at(spec, count, memory.steps);
  make_room(out, k);
  if (k == 0) return;
  float* kept = memory.residual.data();
  if (spec.feedback) {
    kernels::reduce(DType::f32, ReduceOp::sum, kept, gradient, count);
    kernels::compact_with_feedback(kept, nullptr, count, kernels::cut_of_largest(kept, count, k), 0,
                                   out.indices.data(), out.values.data(), k);
  } else {
    kernels::compact(gradient, count, kernels::cut_of_largest(gradient, count, k), 0,
                     out.indices.data(), out.values.data(), k);
  }
}

void pick_above(const CodecSpec& spec, const float* gradient, std::size_t count,
                TensorMemory& memory, Picks& out) {
  const kernels::Cut cut{static_cast<float>(spec.threshold)};
  if (!spec.feedback) {
    make_room(out, kernels::compact(gradient, count, cut, 0, nullptr, nullptr, 0));
    kernels::compact(gradient, count, cut, 0, out.indices.data(), out.values.data(),
                     out.indices.size());
    return;
  }
  // What finds no room stays, so a second call finds the rest: behind all that went out before.
  const std::size_t room = count / 16 + 64;
  make_room(out, room);
  float* kept = memory.residual.data();
  const std::size_t all = kernels::compact_with_feedback(
      kept, gradient, count, cut, 0, out.indices.data(), out.values.data(), room);
  make_room(out, all);
  if (all <= room) return;
  kernels::compact_with_feedback(kept, nullptr, count, cut, 0, out.indices.data() + room,
                                 out.values.data() + room, all - room);
}

// Two numbers whose sum is none: everybody sees it now, and it is not kept.
void forget_what_is_no_number(TensorMemory& memory) {
  for (std::vector<float>* kept : {&memory.residual, &memory.velocity}) {
    for (float& value : *kept) {
      if (!std::isfinite(value)) value = 0.0F;
    }
  }
}

}  // namespace

std::size_t picks_at(const CodecSpec& spec, std::size_t count, std::uint32_t step) {
  std::size_t k = spec.k;
  if (spec.pick == CodecPick::global) {
    k = static_cast<std::size_t>(std::ceil(spec.fraction * static_cast<double>(count)));
    k = std::min(count, std::max<std::size_t>(k, 1));
  }
  if (step >= spec.warmup || k == 0 || k > count / 4) return k;
  // Whole doublings, counted in integers, so that all ranks find the same number.
  const auto doublings = static_cast<std::uint64_t>(std::bit_width(count / 4 / k) - 1);
  const std::uint64_t left = spec.warmup - step;
  return k << ((doublings * left + spec.warmup - 1) / spec.warmup);
}

void pick_elements(const CodecSpec& spec, const Source& source, TensorMemory& memory, Picks& out) {
  const std::size_t count = source.count;
  const kernels::QuantiseKey key = quantise_key(source, memory);
  std::vector<float> scratch;
  const float* gradient = as_float32(source, clipped_scale(source, spec.clip), scratch);
  if (spec.feedback) make_residual(memory, count);
  if (spec.momentum != 0) gradient = with_momentum(spec.momentum, gradient, count, memory);
  out.k = 0;
  switch (spec.pick) {
    case CodecPick::bucket: pick_buckets(spec, gradient, count, memory, out); break;
    case CodecPick::global: pick_global(spec, gradient, count, memory, out); break;
    default: pick_above(spec, gradient, count, memory, out);
  }
  const std::size_t picks = out.indices.size();
  const ValueForm form{spec.form, spec.bits};
  const bool numbers = kernels::all_finite(out.values.data(), picks);
  out.packed.resize(form.bytes(picks));
  write_values(form, key, 0, {picks, 0, picks}, out.values.data(), out.packed.data());
  if (spec.form != CodecForm::none) {
    std::vector<float> sent(picks);
    read_values(form, {picks, 0, picks}, out.packed.data(), sent.data());
    if (spec.feedback && !spec.feedback_of_picks) {
      for (std::size_t i = 0; i < picks; ++i) {
        memory.residual[out.indices[i]] += out.values[i] - sent[i];
      }
    }
    out.values.swap(sent);
  }
  if (spec.momentum != 0) {
    for (const std::uint32_t index : out.indices) memory.velocity[index] = 0.0F;
  }
  if (!numbers) forget_what_is_no_number(memory);
}

}  // namespace unisono::encode
