// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/pacing/pacing.hpp"

#include <array>

#include "base/data/bytes.hpp"
#include "model/options/choices.hpp"
#include "order/messages/messages.hpp"
#include "order/pacing/lockstep.hpp"

namespace unisono::order {
namespace {

std::unique_ptr<Order> at_once(std::unique_ptr<Order> order, Members, const OrderSettings&) {
  return order;
}
std::unique_ptr<Order> in_rounds(std::unique_ptr<Order> order, Members members,
                                 const OrderSettings& settings) {
  return make_lockstep(std::move(order), std::move(members), settings);
}

constexpr std::array kPacings = {
    PacingRow{registry_row<MakePaced>(kPacingChoices, "event", at_once), Pacing::event, false},
    PacingRow{registry_row<MakePaced>(kPacingChoices, "cycle", in_rounds), Pacing::cycle, true},
    PacingRow{registry_row<MakePaced>(kPacingChoices, "gs", in_rounds), Pacing::gs, true},
    PacingRow{registry_row<MakePaced>(kPacingChoices, "nbcs", in_rounds), Pacing::nbcs, false},
};
static_assert(all_have_rows(kPacingChoices, kPacings));

}  // namespace

std::span<const PacingRow> pacing_table() { return kPacings; }

const PacingRow* find_pacing(std::string_view name) { return find_row(kPacings, name); }

std::vector<std::byte> encode_wave(WaveKind kind, std::uint64_t round, Nanos sleep,
                                   const std::vector<std::vector<std::byte>>& riders) {
  ByteWriter out;
  out.put(kind);
  if (kind != WaveKind::loose) {
    out.put(round);
    out.put(static_cast<std::int64_t>(sleep.count()));
  }
  out.put(static_cast<std::uint32_t>(riders.size()));
  for (const std::vector<std::byte>& rider : riders) {
    out.put(static_cast<std::uint32_t>(rider.size()));
    out.put_raw(rider);
  }
  return out.take();
}

Result<Wave> decode_wave(Rank from, std::span<const std::byte> message) {
  ByteReader in(message);
  Wave wave;
  wave.kind = in.get<WaveKind>();
  if (wave.kind < WaveKind::up || wave.kind > WaveKind::loose) in.fail();
  if (in.ok() && wave.kind != WaveKind::loose) {
    wave.round = in.get<std::uint64_t>();
    wave.sleep = Nanos(in.get<std::int64_t>());
  }
  for (auto left = in.get<std::uint32_t>(); in.ok() && left > 0; --left) {
    const auto size = in.get<std::uint32_t>();
    wave.riders.push_back(in.get_raw(size));
  }
  if (!in.finished()) return malformed(from, "a wave of the pacing could not be read");
  return wave;
}

}  // namespace unisono::order
