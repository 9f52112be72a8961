// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which instruction sets the vector kernels are built for; include before any hwy header.
// NEON on aarch64; SSE4, AVX2 and AVX-512 on x86_64. SVE is left out because its vectors have no
// size at compile time, so blocks of accumulators could not be arrays.
#pragma once

#ifdef UNISONO_FEWER_SIMD_TARGETS
// For quick sanitised builds: the oldest instructions and AVX2 on x86_64.
#define HWY_DISABLED_TARGETS                                                            \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | \
   HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_SSSE3 | HWY_AVX3_DL)
#endif
