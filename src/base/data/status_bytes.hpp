// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A Status on the wire: its code, its message, and the rank, host and process it blames. A caller
// that sends a tensor's name as well writes it after this. Pure.
#pragma once

#include <string_view>
#include <utility>

#include "base/data/bytes.hpp"
#include "unisono/status.hpp"

namespace unisono {

struct StatusTextMax {
  std::size_t message = std::string_view::npos;
  std::size_t host = std::string_view::npos;
};

// Longer texts are cut.
inline void put_status(ByteWriter& out, const Status& status, StatusTextMax max = {}) {
  out.put(status.code());
  out.put_text(std::string_view(status.message()).substr(0, max.message));
  out.put(static_cast<std::int32_t>(status.culprit().rank));
  out.put_text(std::string_view(status.culprit().host).substr(0, max.host));
  out.put(status.culprit().pid);
}

// An unknown code fails the reader.
inline Status get_status(ByteReader& in) {
  const auto code = in.get<Code>();
  std::string message = in.get_text();
  Culprit culprit;
  culprit.rank = in.get<std::int32_t>();
  culprit.host = in.get_text();
  culprit.pid = in.get<std::int64_t>();
  if (code < Code::ok || code > Code::internal) in.fail();
  return in.ok() ? Status(code, std::move(message), std::move(culprit)) : Status();
}

}  // namespace unisono
