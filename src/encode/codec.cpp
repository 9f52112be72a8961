// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "encode/codec.hpp"

#include <array>

#include "encode/casts.hpp"

namespace unisono::encode {

std::span<const Codec* const> codec_table() {
  static const std::array<const Codec*, 3> kCodecs = {&none_codec(), &fp16_codec(), &bf16_codec()};
  return kCodecs;
}

const Codec* find_codec(std::string_view name) {
  if (name.empty()) return codec_table().front();
  for (const Codec* codec : codec_table()) {
    if (codec->name() == name) return codec;
  }
  return nullptr;
}

}  // namespace unisono::encode
