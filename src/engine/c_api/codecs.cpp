// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What codecs keep, in the C interface.
#include <cstring>

#include "engine/c_api/handles.hpp"

using namespace unisono;
using namespace unisono::engine::c_api;

extern "C" {

int unisono_codec_state(unisono_engine* engine, void* state, size_t size, size_t* needed) {
  return with_engine(engine, [&](Engine& target) -> Status {
    if (state == nullptr && size != 0) return null_argument("the place for the state");
    const auto kept = target.codec_state();
    if (!kept.ok()) return kept.status();
    if (needed != nullptr) *needed = kept.value().size();
    if (kept.value().size() <= size) std::memcpy(state, kept.value().data(), kept.value().size());
    return {};
  });
}

int unisono_load_codec_state(unisono_engine* engine, const void* state, size_t size) {
  return with_engine(engine, [&](Engine& target) -> Status {
    if (state == nullptr) return null_argument("the state");
    return target.load_codec_state({static_cast<const std::byte*>(state), size});
  });
}

}
