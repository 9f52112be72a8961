// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/costs.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/data/text.hpp"

namespace unisono::tools {
namespace {

using nlohmann::ordered_json;

constexpr const char* kMark = "unisono_costs";
constexpr int kVersion = 1;
constexpr std::size_t kCostsFileMax = 1 << 20;
constexpr const char* kMend = "make one with unisono doctor -H HOST,... --costs";

ordered_json traffic_json(const Traffic& traffic) {
  return {{"gb_per_s", traffic.gb_per_s}, {"round_trip_us", traffic.round_trip_us}};
}

// A figure of a file: 0 or above, or what is wrong with it.
std::string read_figure(const ordered_json& document, const char* part, const char* key,
                        double& value) {
  const auto found = document.find(part);
  if (found == document.end() || !found->is_object()) return cat('"', part, "\" is missing");
  const auto figure = found->find(key);
  if (figure == found->end() || !figure->is_number()) {
    return cat('"', part, ".", key, "\" is missing or no number");
  }
  value = figure->get<double>();
  if (std::isfinite(value) && value >= 0 && value < 1e9) return "";
  return cat('"', part, ".", key, "\" cannot be ", value);
}

std::string read_document_of_costs(const ordered_json& document, MeasuredCosts& costs) {
  if (!document.is_object() || document.value(kMark, ordered_json()) != kVersion) {
    return cat("it is no file of costs (\"", kMark, "\": ", kVersion, ")");
  }
  for (const auto& [part, traffic] :
       {std::pair{"wire", &costs.wire}, std::pair{"loopback", &costs.loopback}}) {
    std::string bad = read_figure(document, part, "gb_per_s", traffic->gb_per_s);
    if (bad.empty()) bad = read_figure(document, part, "round_trip_us", traffic->round_trip_us);
    if (!bad.empty()) return bad;
  }
  if (const auto hosts = document.find("hosts"); hosts != document.end() && hosts->is_array()) {
    for (const ordered_json& host : *hosts) {
      if (host.is_string()) costs.hosts.push_back(host.get<std::string>());
    }
  }
  return read_figure(document, "memory", "gb_per_s", costs.copy_gb_per_s);
}

}  // namespace

std::string usual_costs_path() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string folder = cache != nullptr && *cache == '/' ? std::string(cache)
                             : home != nullptr                 ? cat(home, "/.cache")
                                                               : std::string("/tmp");
  return folder + "/unisono/costs.json";
}

std::string costs_json(const MeasuredCosts& costs) {
  const ordered_json document{{kMark, kVersion},
                              {"hosts", costs.hosts},
                              {"wire", traffic_json(costs.wire)},
                              {"loopback", traffic_json(costs.loopback)},
                              {"memory", {{"gb_per_s", costs.copy_gb_per_s}}}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Status write_costs(const std::string& path, const MeasuredCosts& costs) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  const std::string beside = cat(path, ".", ::getpid());
  std::ofstream file(beside);
  file << costs_json(costs);
  file.close();
  std::error_code moved;
  if (file) std::filesystem::rename(beside, path, moved);
  if (file && !moved) return {};
  std::filesystem::remove(beside, ignored);
  return Status(Code::unavailable, cat("cannot write ", path));
}

Result<MeasuredCosts> read_costs(const std::string& path) {
  const auto wrong = [&](std::string_view why) {
    return Status(Code::invalid_argument, cat(path, ": ", why, "; ", kMend));
  };
  std::ifstream file(path);
  if (!file) return wrong("there is no file of measured costs that can be read");
  std::string text(kCostsFileMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kCostsFileMax) return wrong("it is too long for a file of costs");
  MeasuredCosts costs;
  try {
    const std::string bad = read_document_of_costs(ordered_json::parse(text), costs);
    if (!bad.empty()) return wrong(bad);
  } catch (const nlohmann::json::exception& error) {
    const std::string_view all = error.what();
    return wrong(all.substr(std::min(all.find("] ") + 2, all.size())));
  }
  return costs;
}

}  // namespace unisono::tools
