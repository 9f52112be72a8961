// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The vector part of compact(): 32-bit values with 32-bit indices. Thread: any; no state.
#pragma once

#include "kernels/sparse/sparse.hpp"

namespace unisono::kernels::simd {

struct Compacted {
  std::size_t words = 0;                    // of the bitmap, from the first on
  std::size_t count = 0;                    // elements of them
};

// As many leading words as it may: whole vectors are written, so it ends where less than a word's
// worth of room is left. None where there are no vectors.
Compacted compact_words(const Accumulators& segment, std::size_t capacity, std::uint32_t* indices,
                        void* values);

}  // namespace unisono::kernels::simd
