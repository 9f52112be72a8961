// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/network.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/data/text.hpp"

namespace unisono::sim {
namespace {

Network row(const char* name, double latency, double overhead, double gb_per_s, double hop,
            double attained, std::string_view source) {
  Network network;
  network.name = name;
  network.latency_us = latency;
  network.overhead_us = overhead;
  network.gap_us = overhead / 3;
  network.gb_per_s = gb_per_s;
  network.hop_us = hop;
  network.attained = attained;
  network.source = source;
  return network;
}

constexpr std::string_view kMagnitude = "order of magnitude";

// Latency, overhead, adapter, hop of a collective, share attained. Bandwidths are what the names
// say; InfiniBand's is that of four lanes less their coding.
std::vector<Network> make_networks() {
  std::vector<Network> all = {
      row("wifi", 1500, 10, 0.03, 2500, 0.6, "order of magnitude: 240 Mbit/s, shared by all"),
      row("100mbe", 100, 5, 0.0125, 150, 0.9, kMagnitude),
      row("1gbe", 30, 4, 0.125, 55, 0.9, kMagnitude),
      row("10gbe", 20, 3, 1.25, 45.26, 0.8, "hop: paper 003; the others an order of magnitude"),
      row("25gbe", 12, 2.5, 3.125, 25, 0.8, kMagnitude),
      row("40gbe", 10, 2.5, 5, 20, 0.75, kMagnitude),
      row("100gbe", 6, 2, 12.5, 15, 0.7, kMagnitude),
      row("200gbe", 5.5, 2, 25, 13, 0.7, kMagnitude),
      row("400gbe", 5, 2, 50, 12, 0.7, kMagnitude),
      row("infiniband-fdr", 1.5, 0.8, 6.8, 7, 0.8, kMagnitude),
      row("infiniband-edr", 1.3, 0.7, 12.5, 6, 0.8, kMagnitude),
      row("infiniband-hdr", 1.1, 0.6, 25, 5.5, 0.8, kMagnitude),
      row("infiniband-ndr", 1.0, 0.6, 50, 5, 0.8, kMagnitude),
      row("aries", 1.3, 0.8, 10, 6, 0.7, "order of magnitude: Cori and Piz Daint of paper 002"),
      row("summit", 1.3, 0.7, 23, 6, 0.75, "bandwidths: paper 000; the others usual for EDR")};
  all.back().local_gb_per_s = 50;
  all.back().launch_us = 30;
  all.back().tensor_us = 20;
  return all;
}

const std::vector<Network>& networks() {
  static const std::vector<Network> kNetworks = make_networks();
  return kNetworks;
}

Result<double> number_after(std::string_view text, std::string_view key) {
  const std::string_view digits = text.substr(key.size());
  double value = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (fault != std::errc() || end != digits.data() + digits.size() || value < 0) {
    return Status(Code::invalid_argument, cat("--network ", text, ": write ", key, "NUMBER"));
  }
  return value;
}

Result<Network> affine(std::string_view text) {
  double alpha = -1, beta = -1, gamma = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    double* target = part.starts_with("alpha=")  ? &alpha
                     : part.starts_with("beta=") ? &beta
                     : part.starts_with("gamma=") ? &gamma
                                                  : nullptr;
    if (target == nullptr) {
      return Status(Code::invalid_argument,
                    cat("--network ", text, ": no network and no alpha=, beta= or gamma= in \"",
                        part, "\"; see unisono simulate --list"));
    }
    auto value = number_after(part, part.substr(0, part.find('=') + 1));
    if (!value.ok()) return value.status();
    *target = value.value();
  }
  if (alpha < 0 || beta <= 0) {
    return Status(Code::invalid_argument,
                  cat("--network ", text, ": give both, as alpha=5e-5,beta=1e-9"));
  }
  // Written so that what is not a number is refused, too.
  const auto within = [](double value, double most) { return value >= 0 && value <= most; };
  if (!within(alpha, 3600) || !within(beta, 1) || !within(gamma, 1)) {
    return Status(Code::invalid_argument,
                  cat("--network ", text, ": seconds are wanted, alpha up to 3600, beta and gamma "
                      "up to 1 a byte, as alpha=5e-5,beta=1e-9"));
  }
  Network network = row("custom", alpha * 1e6, alpha * 1e5, 1e-9 / beta, alpha * 1e6, 1.0, "given");
  network.name = std::string(text);
  network.reduce_ns_per_byte = gamma * 1e9;
  return network;
}

}  // namespace

std::span<const Network> network_table() { return networks(); }

Result<Network> parse_network(std::string_view text) {
  for (const Network& network : networks()) {
    if (network.name == text) return network;
  }
  return affine(text);
}

}  // namespace unisono::sim
