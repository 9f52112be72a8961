// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/trace.hpp"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/data/text.hpp"

namespace unisono::tools {

Result<sim::Workload> read_trace(const std::string& path) {
  const auto wrong = [&](std::string_view why) {
    return Status(Code::invalid_argument, cat("--trace ", path, ": ", why));
  };
  std::ifstream file(path);
  if (!file) return wrong("the file cannot be read");
  const auto document = nlohmann::json::parse(file, nullptr, false);
  constexpr const char* kForm =
      R"(it is not {"tensors":[{"name":"…","bytes":…,"ready_us":…},…]})";
  if (!document.is_object() || !document.contains("tensors") || !document["tensors"].is_array()) {
    return wrong(kForm);
  }
  sim::Workload workload;
  workload.name = path;
  for (const auto& entry : document["tensors"]) {
    const auto number = [&](const char* key) {
      return entry.is_object() && entry.contains(key) && entry[key].is_number();
    };
    constexpr double kBytesMax = 1e18;
    if (!number("bytes") || !number("ready_us") ||
        std::abs(entry["bytes"].get<double>()) > kBytesMax || !entry.contains("name") ||
        !entry["name"].is_string()) {
      return wrong(kForm);
    }
    workload.tensors.push_back({entry["name"].get<std::string>(),
                                entry["bytes"].get<std::int64_t>(),
                                entry["ready_us"].get<double>()});
  }
  if (document.contains("compute_us") && document["compute_us"].is_number()) {
    workload.compute_us = document["compute_us"].get<double>();
  }
  if (Status bad = sim::finish_workload(workload); !bad.ok()) return bad;
  return workload;
}

}  // namespace unisono::tools
