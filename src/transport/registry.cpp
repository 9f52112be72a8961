// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/registry.hpp"

#include <array>

#include "base/check.hpp"
#include "model/options/choices.hpp"

namespace unisono::transport {
namespace {

bool shm_is_viable(const Endpoint& one, const Endpoint& other) {
  if (one.unix_name.empty() || other.unix_name.empty()) return false;
  return one.place.empty() || other.place.empty() || one.place == other.place;
}

bool tcp_is_viable(const Endpoint& one, const Endpoint& other) {
  return !one.address.empty() && !other.address.empty();
}

constexpr TransportRow row(std::string_view name,
                           bool (*viable)(const Endpoint&, const Endpoint&)) {
  const OptionChoice choice = choice_named(kTransportChoices, name);
  return {choice.name, choice.about, viable};
}

constexpr std::array kTransports = {row("shm", shm_is_viable), row("tcp", tcp_is_viable)};
static_assert(all_have_rows(kTransportChoices, kTransports));

}  // namespace

std::span<const TransportRow> transport_table() { return kTransports; }

const TransportRow& find_transport(std::string_view name) {
  const TransportRow* found = find_row(kTransports, name);
  UNISONO_CHECK(found != nullptr);
  return *found;
}

}  // namespace unisono::transport
