// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Codecs that send every element by itself: as it is, or as a smaller float.
// float32 and float64 are rounded once, after the prescale and to nearest even, and go back to
// their own dtype before they are divided and scaled. Integers and floats of 16 bits or less travel
// as they are.
#pragma once

#include "encode/codec.hpp"

namespace unisono::encode {

const Codec& none_codec();
const Codec& fp16_codec();
const Codec& bf16_codec();

}  // namespace unisono::encode
