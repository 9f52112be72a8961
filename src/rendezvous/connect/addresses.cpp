// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/connect/addresses.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "base/data/text.hpp"

namespace unisono::rendezvous {
namespace {

// Both families as the bits of an IPv6 address, so that networks are compared in one way.
struct Bits {
  std::array<unsigned char, 16> bytes{};
  bool v4 = false;
};

std::optional<Bits> bits_of(const std::string& address) {
  Bits bits;
  if (::inet_pton(AF_INET, address.c_str(), bits.bytes.data() + 12) == 1) {
    bits.v4 = true;
    return bits;
  }
  if (::inet_pton(AF_INET6, address.c_str(), bits.bytes.data()) == 1) return bits;
  return std::nullopt;
}

bool same_network(const Bits& a, const Bits& b, int prefix_bits) {
  if (a.v4 != b.v4) return false;
  std::size_t byte = a.v4 ? 12 : 0;
  for (int left = prefix_bits; left > 0 && byte < a.bytes.size(); left -= 8, ++byte) {
    const auto mask = static_cast<unsigned char>(left >= 8 ? 0xFF : 0xFF << (8 - left));
    if ((a.bytes[byte] & mask) != (b.bytes[byte] & mask)) return false;
  }
  return true;
}

// Means something on one cable only.
bool is_link_local(const Bits& bits) {
  if (bits.v4) return bits.bytes[12] == 169 && bits.bytes[13] == 254;
  return bits.bytes[0] == 0xFE && (bits.bytes[1] & 0xC0) == 0x80;
}

int prefix_of(const sockaddr* mask) {
  if (mask == nullptr) return 0;
  std::array<unsigned char, 16> bytes{};
  std::size_t count = 0;
  if (mask->sa_family == AF_INET) {
    count = 4;
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in*>(mask)->sin_addr, count);
  } else if (mask->sa_family == AF_INET6) {
    count = 16;
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr, count);
  }
  int bits = 0;
  for (std::size_t i = 0; i < count; ++i) bits += std::popcount(bytes[i]);
  return bits;
}

std::string what_is_here(const std::vector<InterfaceAddress>& here) {
  std::vector<std::string> words;
  for (const InterfaceAddress& each : here) {
    words.push_back(cat(each.interface, " ", each.address, each.up ? "" : " (down)"));
  }
  return words.empty() ? "this host has no address at all"
                       : cat("this host has ", join_text(words, ", "));
}

// IPv6 addresses of a link mean nothing without the name of an interface.
bool is_usable(const InterfaceAddress& each) {
  const auto bits = bits_of(each.address);
  return each.up && bits && (bits->v4 || !is_link_local(*bits));
}

// A network as "10.0.0.0/8"; nullopt when the text is none.
struct Network {
  Bits bits;
  int prefix_bits = 0;
};
std::optional<Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto bits = bits_of(std::string(text.substr(0, slash)));
  const std::string_view digits = text.substr(slash + 1);
  int prefix = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
  if (!bits || error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (prefix < 0 || prefix > (bits->v4 ? 32 : 128)) return std::nullopt;
  return Network{*bits, prefix};
}

// Link-local addresses after others, and those without a carrier after all.
std::vector<std::string> best_first(std::vector<InterfaceAddress> chosen) {
  std::ranges::stable_sort(chosen, {}, [](const InterfaceAddress& each) {
    const auto bits = bits_of(each.address);
    return std::pair(!each.carrier, bits && is_link_local(*bits));
  });
  std::vector<std::string> addresses;
  for (const InterfaceAddress& each : chosen) {
    if (std::ranges::find(addresses, each.address) == addresses.end()) {
      addresses.push_back(each.address);
    }
  }
  return addresses;
}

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  std::vector<InterfaceAddress> all;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr) continue;
    const int family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    char text[INET6_ADDRSTRLEN] = {};
    const void* raw =
        family == AF_INET
            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr)
            : &reinterpret_cast<const sockaddr_in6*>(at->ifa_addr)->sin6_addr;
    if (::inet_ntop(family, raw, text, sizeof text) == nullptr) continue;
    const auto has = [&](unsigned flag) { return (at->ifa_flags & flag) != 0; };
    all.push_back({at->ifa_name, text, prefix_of(at->ifa_netmask), has(IFF_UP), has(IFF_LOOPBACK),
                   has(IFF_RUNNING)});
  }
  ::freeifaddrs(list);
  return all;
}

bool is_any_address(std::string_view host) { return host == "0.0.0.0" || host == "::"; }

Result<std::vector<std::string>> addresses_to_publish(const std::vector<InterfaceAddress>& here,
                                                      std::string_view wanted) {
  std::vector<InterfaceAddress> chosen;
  if (wanted.empty() || is_any_address(wanted)) {
    std::ranges::copy_if(here, std::back_inserter(chosen), [](const InterfaceAddress& each) {
      return is_usable(each) && !each.loopback;
    });
    if (!chosen.empty()) return best_first(std::move(chosen));
    return Status(Code::unavailable,
                  cat("no address of this host can be reached from others: ", what_is_here(here),
                      "; bring an interface up, or name an address with UNISONO_BIND_HOST"));
  }
  const auto network = parse_network(wanted);
  const bool is_interface = std::ranges::any_of(
      here, [&](const InterfaceAddress& each) { return each.interface == wanted; });
  // An address, or the name of a host: whoever wrote it knows what it leads to.
  if (!network && !is_interface && wanted.find('/') == std::string_view::npos) {
    return std::vector<std::string>{std::string(wanted)};
  }
  for (const InterfaceAddress& each : here) {
    const auto bits = bits_of(each.address);
    const bool fits = network ? bits && same_network(*bits, network->bits, network->prefix_bits)
                              : each.interface == wanted;
    if (fits && is_usable(each)) chosen.push_back(each);
  }
  if (!chosen.empty()) return best_first(std::move(chosen));
  return Status(Code::invalid_argument, cat("UNISONO_BIND_HOST=", wanted,
                                            network ? ": no address of this host is in that network"
                                            : is_interface ? ": that interface has no address in use"
                                                           : ": that is no network",
                                            "; ", what_is_here(here)));
}

bool routes(const std::string& address) {
  return local_address_towards({address, 1}).ok();
}

std::vector<HostPort> order_to_try(std::vector<HostPort> peer,
                                   const std::vector<InterfaceAddress>& here,
                                   const std::function<bool(const std::string&)>& has_route) {
  if (peer.size() < 2) return peer;
  enum Place { near, routed, unknown, own };
  const auto place_of = [&](const HostPort& at) {
    const auto bits = bits_of(at.host);
    if (!bits) return routed;
    bool is_near = false;
    for (const InterfaceAddress& each : here) {
      const auto mine = bits_of(each.address);
      if (!mine || !each.up) continue;
      if (!each.loopback && mine->v4 == bits->v4 && mine->bytes == bits->bytes) return own;
      is_near |= !each.loopback && same_network(*mine, *bits, each.prefix_bits);
    }
    if (is_near) return near;
    return has_route(at.host) ? routed : unknown;
  };
  std::vector<std::pair<Place, HostPort>> places;
  for (HostPort& at : peer) {
    const Place place = place_of(at);
    places.emplace_back(place, std::move(at));
  }
  std::ranges::stable_sort(places, {}, [](const auto& each) { return each.first; });
  std::vector<HostPort> order;
  for (auto& [place, at] : places) {
    if (place != own || order.empty()) order.push_back(std::move(at));
  }
  return order;
}

std::string addresses_text(const std::vector<HostPort>& addresses) {
  std::vector<std::string> words;
  for (const HostPort& each : addresses) words.push_back(address_text(each.host, each.port));
  return join_text(words, ",");
}

Result<std::vector<HostPort>> parse_addresses(std::string_view text) {
  constexpr std::size_t kAddressesMax = 64;
  std::vector<HostPort> addresses;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    auto address = parse_address(text.substr(at, end - at));
    if (!address) return address.status();
    addresses.push_back(std::move(address).value());
    if (addresses.size() > kAddressesMax) {
      return Status(Code::invalid_argument, cat("over ", kAddressesMax, " addresses in one list"));
    }
    at = end + 1;
  }
  return addresses;
}

bool all_loopback(std::string_view addresses) {
  const auto all = parse_addresses(addresses);
  return all.ok() && std::ranges::all_of(all.value(), [](const HostPort& each) {
    return is_loopback(each.host);
  });
}

}  // namespace unisono::rendezvous
