// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What it takes on this machine to encode a tensor and to decode it again. Thread: any.
#pragma once

#include "base/clock.hpp"
#include "encode/codec.hpp"
#include "unisono/codec.hpp"

namespace unisono::encode {

// Seconds for each byte of the tensor: the best of a few tries with 64 KiB, which together take no
// longer than about a millisecond.
double seconds_per_byte(const Codec& codec, DType dtype, const Clock& clock);
// The same of a codec that packs all elements, once on the way to their owners and once as sums.
double seconds_per_byte(const CodecSpec& codec, DType dtype, const Clock& clock);

}  // namespace unisono::encode
