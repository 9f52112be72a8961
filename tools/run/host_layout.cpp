// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/host_layout.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <sstream>

#include "base/data/text.hpp"
#include "rendezvous/connect/sockets.hpp"

namespace unisono::tools {
namespace {

constexpr int kRanksMax = 1 << 20;

Result<HostSlots> parse_host(std::string_view item) {
  HostSlots host;
  std::string_view name = item, digits;
  if (const auto colon = item.rfind(':'); colon != std::string_view::npos) {
    name = item.substr(0, colon);
    digits = item.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), host.slots);
    if (error != std::errc{} || end != digits.data() + digits.size() || host.slots < 1) {
      return Status(Code::invalid_argument,
                    cat("host \"", item, "\": slots must be a number from 1; write host:slots"));
    }
  }
  // A leading dash would be taken for an option by ssh.
  if (name.empty() || name.front() == '-' ||
      name.find_first_of(" \t'\"\\;&|<>$`()") != std::string_view::npos) {
    return Status(Code::invalid_argument, cat("\"", item, "\" is not a host; write host:slots"));
  }
  host.host = name;
  return host;
}

}  // namespace

Result<std::vector<HostSlots>> parse_hosts(std::string_view text) {
  std::vector<HostSlots> hosts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    auto host = parse_host(text.substr(0, end));
    if (!host) return host.status();
    hosts.push_back(std::move(*host));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (hosts.empty()) return Status(Code::invalid_argument, "no hosts given; write host:slots,...");
  return hosts;
}

Result<std::vector<HostSlots>> parse_hostfile(std::string_view text) {
  std::vector<HostSlots> hosts;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, std::min(text.substr(0, end).find('#'), end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    std::istringstream words(line);
    std::string name, slots, more;
    if (!(words >> name)) continue;
    words >> slots >> more;
    constexpr std::string_view kSlots = "slots=";
    const bool has_slots = slots.starts_with(kSlots);
    if ((!slots.empty() && !has_slots) || !more.empty()) {
      return Status(Code::invalid_argument,
                    cat("line ", number, " of the hostfile, \"", line,
                        "\", has words too many; write host slots=N or host:N"));
    }
    auto host = parse_host(has_slots ? cat(name, ":", slots.substr(kSlots.size())) : name);
    if (!host) {
      return Status(Code::invalid_argument,
                    cat("line ", number, " of the hostfile: ", host.status().message()));
    }
    hosts.push_back(std::move(*host));
  }
  if (hosts.empty()) return Status(Code::invalid_argument, "the hostfile names no hosts");
  return hosts;
}

Result<std::vector<HostPlan>> place(const std::vector<HostSlots>& hosts, int count) {
  std::int64_t slots = 0;
  for (const HostSlots& host : hosts) slots += host.slots;
  if (count == 0 && slots > kRanksMax) {
    return Status(Code::invalid_argument, cat("the hosts have ", slots, " slots, and a job at most ",
                                              kRanksMax, " ranks; give -np, or fewer slots"));
  }
  if (count == 0) count = static_cast<int>(slots);
  if (count > slots) {
    return Status(Code::invalid_argument, cat("-np ", count, " is more than the ", slots,
                                              " slots of the hosts; raise host:slots"));
  }
  std::vector<HostPlan> plans;
  int rank = 0;
  for (const HostSlots& host : hosts) {
    const int here = std::min(host.slots, count - rank);
    if (here == 0) break;
    HostPlan plan{host.host, rendezvous::is_loopback(host.host), {}};
    for (int i = 0; i < here; ++i) plan.ranks.push_back({rank++, i, here});
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace unisono::tools
