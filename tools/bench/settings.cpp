// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/settings.hpp"

namespace unisono::tools {

std::string_view bench_name(DType dtype) {
  switch (dtype) {
    case DType::f32: return "fp32";
    case DType::f64: return "fp64";
    case DType::f16: return "fp16";
    case DType::bf16: return "bf16";
    default: return name_of(dtype);
  }
}

Work work_for(Collective collective, DType dtype, std::int64_t bytes, int ranks) {
  const auto width = static_cast<std::int64_t>(size_of(dtype));
  const bool parts =
      collective == Collective::reducescatter || collective == Collective::alltoall;
  const std::int64_t multiple = parts ? ranks : 1;
  const std::int64_t elements = bytes / width + (bytes % width != 0 ? 1 : 0);
  return {collective, dtype, (elements + multiple - 1) / multiple * multiple};
}

}  // namespace unisono::tools
