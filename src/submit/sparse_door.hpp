// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The front door of sparse collectives: checks what a caller brings, sorts and combines it, and
// makes a Request of it.
// Pure: any thread, no state. The stream is a copy, so the caller's memory is not needed any more.
#pragma once

#include <memory>
#include <string_view>

#include "model/members.hpp"
#include "model/request.hpp"
#include "stream/stream.hpp"
#include "submit/front_door.hpp"
#include "unisono/sparse.hpp"
#include "unisono/status.hpp"

namespace unisono::submit {

struct SparseEntry {
  Request request;
  std::shared_ptr<const stream::Stream> stream;
};

// The algorithms that a caller may name.
using KnownAlgorithm = bool (*)(Collective kind, std::string_view name);

// members is the process set named in the settings; null when there is no such set. A name that is
// reserved is refused.
Result<SparseEntry> make_sparse_entry(Collective kind, std::string_view name,
                                      const SparseOperand& operand, const SparseSettings& settings,
                                      const Members* members, const CodecChoice& codecs,
                                      KnownAlgorithm known_algorithm);

}  // namespace unisono::submit
