// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "encode/codec.hpp"

#include <array>

#include "encode/casts.hpp"
#include "model/options/choices.hpp"

namespace unisono::encode {
namespace {

constexpr std::array kCodecs = {
    registry_row(kCodecChoices, "none", none_codec),
    registry_row(kCodecChoices, "fp16", fp16_codec),
    registry_row(kCodecChoices, "bf16", bf16_codec),
};
static_assert(all_have_rows(kCodecChoices, kCodecs));

}  // namespace

std::span<const CodecRow> codec_table() { return kCodecs; }

const Codec* find_codec(std::string_view name) {
  const CodecRow* row = find_row(kCodecs, name.empty() ? kCodecs.front().name : name);
  return row == nullptr ? nullptr : &row->make();
}

}  // namespace unisono::encode
