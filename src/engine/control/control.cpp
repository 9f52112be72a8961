// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/control/control.hpp"

#include "base/data/status_bytes.hpp"

namespace unisono::engine {

std::vector<std::byte> encode_order(SetId set, std::span<const std::byte> body) {
  ByteWriter out;
  out.put(ControlKind::order);
  out.put(set);
  out.put_raw(body);
  return out.take();
}

std::vector<std::byte> encode_abort(const Status& status) {
  ByteWriter out;
  out.put(ControlKind::abort);
  out.put(SetId{0});
  put_status(out, status);
  return out.take();
}

std::vector<std::byte> encode_leave(ControlKind kind, SetId set, std::uint64_t responses) {
  ByteWriter out;
  out.put(kind);
  out.put(set);
  out.put(responses);
  return out.take();
}

std::vector<std::byte> encode_wait(const observe::RankWait& wait) {
  ByteWriter out;
  out.put(ControlKind::waits);
  out.put(SetId{0});
  out.put(wait.tensors);
  out.put(static_cast<std::int64_t>(wait.mean.count()));
  return out.take();
}

std::vector<std::byte> encode_part(std::span<const std::byte> body, bool last) {
  ByteWriter out;
  out.put(ControlKind::part);
  out.put(SetId{0});
  out.put(static_cast<std::uint8_t>(last));
  out.put_raw(body);
  return out.take();
}

std::vector<std::byte> encode_verdict(const observe::SlowRank& slow) {
  ByteWriter out;
  out.put(ControlKind::verdict);
  out.put(SetId{0});
  out.put(static_cast<std::int32_t>(slow.rank));
  out.put(static_cast<std::int64_t>(slow.late.count()));
  out.put(slow.tensors);
  return out.take();
}

std::vector<std::byte> encode_departure(const Departure& departure) {
  ByteWriter out;
  out.put(ControlKind::departs);
  out.put(SetId{0});
  out.put_list(departure.before);
  out.put_list(departure.unfinished);
  out.put_list(departure.persistents);
  out.put_list(departure.runs);
  return out.take();
}

std::vector<std::byte> encode_left(const std::vector<Rank>& leavers) {
  ByteWriter out;
  out.put(ControlKind::left);
  out.put(SetId{0});
  out.put_list(leavers);
  return out.take();
}

std::vector<std::byte> encode_routed(const Route& route, std::span<const std::byte> body) {
  ByteWriter out;
  out.put(ControlKind::routed);
  out.put(SetId{0});
  out.put(route.origin);
  out.put(route.to);
  out.put(route.number);
  out.put_raw(body);
  return out.take();
}

bool is_wrapped(std::span<const std::byte> message) {
  return !message.empty() && (message.front() == static_cast<std::byte>(ControlKind::routed) ||
                              message.front() == static_cast<std::byte>(ControlKind::bundle));
}

std::vector<std::byte> encode_routes_around() {
  ByteWriter out;
  out.put(ControlKind::routes_around);
  out.put(SetId{0});
  return out.take();
}

std::vector<std::byte> encode_bundle(const std::vector<std::vector<std::byte>>& messages) {
  ByteWriter out;
  out.put(ControlKind::bundle);
  out.put(SetId{0});
  for (const auto& message : messages) {
    out.put(static_cast<std::uint32_t>(message.size()));
    out.put_raw(message);
  }
  return out.take();
}

Result<Control> decode_control(std::span<const std::byte> message) {
  ByteReader in(message);
  Control control;
  control.kind = in.get<ControlKind>();
  control.set = in.get<SetId>();
  switch (control.kind) {
    case ControlKind::order:
      control.body = in.get_raw(in.remaining());
      break;
    case ControlKind::routed:
      control.route.origin = in.get<Rank>();
      control.route.to = in.get<Rank>();
      control.route.number = in.get<std::uint32_t>();
      control.body = in.get_raw(in.remaining());
      break;
    case ControlKind::routes_around:
      break;
    case ControlKind::bundle:
      while (in.ok() && in.remaining() > 0) {
        const auto each = in.get_raw(in.get<std::uint32_t>());
        // Nothing but routed messages, so that no bundle is within another.
        if (each.empty() || each.front() != static_cast<std::byte>(ControlKind::routed)) {
          in.fail();
        }
        control.bundle.push_back(each);
      }
      break;
    case ControlKind::part: {
      const auto last = in.get<std::uint8_t>();
      if (last > 1) in.fail();
      control.last = last == 1;
      control.body = in.get_raw(in.remaining());
      break;
    }
    case ControlKind::abort:
      control.status = get_status(in);
      if (control.status.ok()) in.fail();
      break;
    case ControlKind::leave_request:
    case ControlKind::leave_granted:
      control.responses = in.get<std::uint64_t>();
      break;
    case ControlKind::waits:
      control.wait.tensors = in.get<std::uint64_t>();
      control.wait.mean = Nanos(in.get<std::int64_t>());
      break;
    case ControlKind::verdict:
      control.slow.rank = in.get<std::int32_t>();
      control.slow.late = Nanos(in.get<std::int64_t>());
      control.slow.tensors = in.get<std::uint64_t>();
      break;
    case ControlKind::departs: {
      Departure& departure = control.departure;
      departure.before = in.get_list<Rank>();
      departure.unfinished = in.get_list<SetId>();
      departure.persistents = in.get_list<std::uint64_t>();
      departure.runs = in.get_list<std::uint64_t>();
      if (departure.persistents.size() != departure.runs.size()) in.fail();
      break;
    }
    case ControlKind::left:
      control.leavers = in.get_list<Rank>();
      break;
    default:
      in.fail();
  }
  if (!in.finished()) return Status(Code::corrupted, "a control message could not be read");
  return control;
}

}  // namespace unisono::engine
