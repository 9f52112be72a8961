// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/hosts/compare.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "base/data/text.hpp"
#include "doctor/checks/speed.hpp"
#include "rendezvous/connect/sockets.hpp"

namespace unisono::tools {
namespace {

constexpr double kMuchSkewS = 0.1;
constexpr double kSlowWay = 0.05;  // GB/s; half of a gigabit per second

// Ranks with different ones of these compute differently, or do not understand each other.
constexpr std::string_view kShouldBeEqual[] = {
    "unisono (python)", "python", "torch", "numpy", "jax", "tensorflow", "mpi"};

Finding about_host(const std::string& host, Finding finding) {
  finding.host = host;
  return finding;
}

std::string span_text(double seconds) {
  if (seconds >= 1) return cat(fixed(seconds, 1), " s");
  if (seconds >= 1e-3) return cat(fixed(seconds * 1e3, 1), " ms");
  return cat(fixed(seconds * 1e6, 0), " us");
}

std::string version_at(const Versions& versions, const std::string& name) {
  const auto at = versions.find(name);
  return at == versions.end() ? "-" : at->second;
}

bool differs(const HostVersions& hosts, const std::string& name) {
  return std::any_of(hosts.begin(), hosts.end(), [&](const auto& each) {
    return version_at(each.second, name) != version_at(hosts.front().second, name);
  });
}

Finding judge_difference(const HostVersions& hosts, const std::string& name) {
  std::string newest = "-";
  std::vector<std::string> all, behind;
  for (const auto& [host, versions] : hosts) {
    const std::string version = version_at(versions, name);
    all.push_back(cat(host, " has ", version == "-" ? "none" : version));
    if (newest == "-" || (version != "-" && compare_versions(version, newest) > 0)) {
      newest = version;
    }
  }
  for (const auto& [host, versions] : hosts) {
    if (version_at(versions, name) != newest) behind.push_back(host);
  }
  const std::string check = cat("version of ", name);
  const std::string mend = cat("install ", name, " ", newest, " on ", join_text(behind));
  // `unisono run` refuses hosts with another version.
  return name == "unisono" ? lacking(check, join_text(all), mend)
                           : doubtful(check, join_text(all), mend);
}

}  // namespace

std::optional<Skew> skew_of(const std::vector<ClockSample>& samples) {
  std::optional<Skew> best;
  for (const ClockSample& sample : samples) {
    if (sample.answered_ns < sample.asked_ns) continue;  // this clock was set back meanwhile
    const double half_s = static_cast<double>(sample.answered_ns - sample.asked_ns) * 0.5e-9;
    const double ahead_s = static_cast<double>(sample.theirs_ns - sample.asked_ns) * 1e-9 - half_s;
    if (!best || half_s < best->bound_s) best = Skew{ahead_s, half_s};
  }
  return best;
}

Finding judge_skew(const std::string& host, const Skew& skew) {
  const std::string name = "clock skew";
  const double off_s = std::abs(skew.ahead_s);
  const std::string found = off_s <= skew.bound_s
                                ? cat("as here, within ", span_text(skew.bound_s))
                                : cat(span_text(off_s), skew.ahead_s > 0 ? " ahead" : " behind",
                                      ", within ", span_text(skew.bound_s));
  if (off_s - skew.bound_s <= kMuchSkewS) return about_host(host, good(name, found));
  return about_host(host, doubtful(name,
                                   cat(found,
                                       "; timelines and logs of the two hosts do not fit "
                                       "together"),
                                   "timedatectl set-ntp true on both, or install chrony"));
}

int compare_versions(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto take_number = [&](std::string_view& text) {
    std::size_t end = 0;
    while (end < text.size() && digit(text[end])) ++end;
    std::string_view number = text.substr(0, end);
    while (number.size() > 1 && number.front() == '0') number.remove_prefix(1);
    text.remove_prefix(end);
    return number;
  };
  while (!a.empty() && !b.empty()) {
    if (digit(a.front()) && digit(b.front())) {
      const std::string_view one = take_number(a), two = take_number(b);
      if (one.size() != two.size()) return one.size() < two.size() ? -1 : 1;
      if (one != two) return one < two ? -1 : 1;
    } else {
      if (a.front() != b.front()) return a.front() < b.front() ? -1 : 1;
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.empty() ? (b.empty() ? 0 : -1) : 1;
}

TextTable version_table(const HostVersions& hosts) {
  std::set<std::string> names;
  TextTable table{{""}};
  for (const auto& [host, versions] : hosts) {
    table[0].push_back(host);
    for (const auto& [name, version] : versions) names.insert(name);
  }
  for (const std::string& name : names) {
    if (!differs(hosts, name)) continue;
    std::vector<std::string> line{name};
    for (const auto& [host, versions] : hosts) line.push_back(version_at(versions, name));
    table.push_back(std::move(line));
  }
  return table.size() > 1 ? table : TextTable{};
}

std::vector<Finding> judge_versions(const HostVersions& hosts) {
  std::vector<Finding> rows;
  if (hosts.empty()) return rows;
  if (differs(hosts, "unisono")) rows.push_back(judge_difference(hosts, "unisono"));
  for (const std::string_view name : kShouldBeEqual) {
    if (differs(hosts, std::string(name))) {
      rows.push_back(judge_difference(hosts, std::string(name)));
    }
  }
  return rows;
}

Finding judge_way(const std::string& host, const std::vector<Reached>& tried) {
  const std::string name = "reach";
  std::vector<std::string> reached, missed;
  for (const Reached& each : tried) {
    if (each.trouble.empty()) {
      reached.push_back(each.address);
    } else {
      missed.push_back(cat(each.address, ": ", each.trouble));
    }
  }
  if (reached.empty()) {
    return about_host(
        host, lacking(name,
                      tried.empty() ? "it listens nowhere"
                                    : cat("by ssh only; by TCP not at ", join_text(missed)),
                      "let firewalls and security groups pass TCP between the hosts, on all ports "
                      "above 1023"));
  }
  const std::string found =
      cat("at ", join_text(reached), missed.empty() ? "" : cat("; not at ", join_text(missed)));
  if (tried.front().trouble.empty()) return about_host(host, good(name, found));
  const auto address = rendezvous::parse_address(reached.front());
  return about_host(host, doubtful(name, cat(found, "; jobs try the first of all"),
                                   cat("name the host by ", address ? address.value().host : "",
                                       " in -H, or let a firewall pass the others")));
}

Finding judge_way_speed(const std::string& host, const Result<Traffic>& measured) {
  const std::string name = "TCP to it";
  const std::string mend =
      "see the speed of the link (ethtool), its errors (ip -s link), and what "
      "else uses it";
  if (!measured) return about_host(host, lacking(name, measured.status().message(), mend));
  const std::string found = traffic_text(measured.value());
  return about_host(
      host, measured.value().gb_per_s < kSlowWay ? doubtful(name, found, mend) : good(name, found));
}

}  // namespace unisono::tools
