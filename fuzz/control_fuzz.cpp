// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What engines say to each other on the control lane.
#include "engine/loop/control.hpp"
#include "target.hpp"

namespace unisono::fuzz {
namespace {

Bytes again(const Control& control) {
  switch (control.kind) {
    case ControlKind::order: return encode_order(control.set, control.body);
    case ControlKind::abort: return encode_abort(control.status);
    case ControlKind::leave_request:
    case ControlKind::leave_granted:
      return encode_leave(control.kind, control.set, control.responses);
    case ControlKind::waits: return encode_wait(control.wait);
    case ControlKind::verdict: return encode_verdict(control.slow);
    case ControlKind::departs: return encode_departure(control.departure);
    case ControlKind::part: return encode_part(control.body, control.last);
  }
  must(false, "a control message of no known kind");
  return {};
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  auto control = decode_control(bytes);
  if (!control) return;
  // News of the whole job is written with set 0, whatever set it came with.
  const Bytes written = again(*control);
  auto second = decode_control(written);
  must(second.ok() && written.size() == bytes.size() && again(*second) == written,
       "a control message reads as another than it is");
}

std::vector<Bytes> seeds() {
  return {encode_order(3, bytes_of("body")),
          encode_abort(Status(Code::peer_lost, "gone", {1, "host", 4711, ""})),
          encode_leave(ControlKind::leave_request, 1), encode_leave(ControlKind::leave_granted, 1, 9),
          encode_wait({12, Nanos(3000)}), encode_verdict({2, Nanos(4000), 5}),
          encode_departure({{1, 3}, {0, 2}, {0x123456789abc}, {7}}), encode_part(bytes_of("body"), true)};
}

}  // namespace unisono::fuzz
