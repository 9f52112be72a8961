// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Messages that engines send each other on the control lane.
#include "engine/control/control.hpp"
#include "target.hpp"

namespace unisono::fuzz {
namespace {

Bytes again(const engine::Control& control) {
  switch (control.kind) {
    case engine::ControlKind::order: return engine::encode_order(control.set, control.body);
    case engine::ControlKind::abort: return engine::encode_abort(control.status);
    case engine::ControlKind::leave_request:
    case engine::ControlKind::leave_granted:
      return engine::encode_leave(control.kind, control.set, control.responses);
    case engine::ControlKind::waits: return engine::encode_wait(control.wait);
    case engine::ControlKind::verdict: return engine::encode_verdict(control.slow);
    case engine::ControlKind::departs: return engine::encode_departure(control.departure);
    case engine::ControlKind::left: return engine::encode_left(control.leavers);
    case engine::ControlKind::part: return engine::encode_part(control.body, control.last);
    case engine::ControlKind::routed: return engine::encode_routed(control.route, control.body);
    case engine::ControlKind::routes_around: return engine::encode_routes_around();
    case engine::ControlKind::bundle: {
      std::vector<Bytes> messages;
      for (const auto& each : control.bundle) messages.emplace_back(each.begin(), each.end());
      return engine::encode_bundle(messages);
    }
  }
  must(false, "a control message of no known kind");
  return {};
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  auto control = engine::decode_control(bytes);
  if (!control) return;
  // Messages about the whole job are written with set 0, whatever set they came with.
  const Bytes written = again(*control);
  auto second = engine::decode_control(written);
  must(second.ok() && written.size() == bytes.size() && again(*second) == written,
       "a control message reads as another than it is");
}

std::vector<Bytes> seeds() {
  return {engine::encode_order(3, bytes_of("body")),
          engine::encode_abort(Status(Code::peer_lost, "gone", {1, "host", 4711, ""})),
          engine::encode_leave(engine::ControlKind::leave_request, 1),
          engine::encode_leave(engine::ControlKind::leave_granted, 1, 9),
          engine::encode_wait({12, Nanos(3000)}),
          engine::encode_verdict({2, Nanos(4000), 5}),
          engine::encode_departure({{1, 3}, {0, 2}, {0x123456789abc}, {7}}),
          engine::encode_part(bytes_of("body"), true),
          engine::encode_left({2, 0}),
          engine::encode_routes_around(),
          engine::encode_routed({4, 7, 0}, bytes_of("body")),
          engine::encode_bundle({engine::encode_routed({4, -1, 7}, engine::encode_left({2})),
                                 engine::encode_routed({5, -1, 0}, bytes_of("body"))})};
}

}  // namespace unisono::fuzz
