// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/trace.hpp"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/data/text.hpp"

namespace unisono::tools {
namespace {

using nlohmann::json;

constexpr std::size_t kTensorsMax = 1'000'000;

// What is wrong and where; empty when nothing is.
using Fault = std::string;

// The parser's message without the name of its exception: "parse error at line 1, column 2: ...".
Fault parse_fault(const json::exception& error) {
  const std::string_view all = error.what();
  const std::size_t end = all.find("] ");
  return std::string(end == std::string_view::npos ? all : all.substr(end + 2));
}

Fault read_number(const json& object, const char* key, bool required, double& value) {
  const auto found = object.find(key);
  if (found == object.end()) return required ? cat('"', key, "\" is missing") : "";
  if (!found->is_number()) return cat('"', key, "\" is not a number");
  value = found->get<double>();
  return {};
}

Fault read_tensor(const json& entry, sim::WorkloadTensor& tensor) {
  if (!entry.is_object()) return "not an object";
  const auto name = entry.find("name");
  if (name == entry.end()) return "\"name\" is missing";
  if (!name->is_string()) return "\"name\" is not a text";
  tensor.name = name->get<std::string>();
  double bytes = 0;
  if (Fault bad = read_number(entry, "bytes", true, bytes); !bad.empty()) return bad;
  // Beyond this a number no longer fits its integer; finish_workload says which ones make sense.
  constexpr double kBytesMax = 9e18;
  if (std::abs(bytes) > kBytesMax || bytes != std::floor(bytes)) {
    return "\"bytes\" is not a whole number that can be counted";
  }
  tensor.bytes = entry["bytes"].is_number_float() ? static_cast<std::int64_t>(bytes)
                                                  : entry["bytes"].get<std::int64_t>();
  if (Fault bad = read_number(entry, "ready_us", true, tensor.ready_us); !bad.empty()) return bad;
  return read_number(entry, "forward_us", false, tensor.forward_us);
}

Fault read_document(const json& document, sim::Workload& workload) {
  if (!document.is_object()) return "not an object";
  const auto tensors = document.find("tensors");
  if (tensors == document.end()) return "\"tensors\" is missing";
  if (!tensors->is_array()) return "\"tensors\" is not a list";
  if (tensors->size() > kTensorsMax) {
    return cat(tensors->size(), " tensors, of which at most ", kTensorsMax, " can be simulated");
  }
  workload.tensors.reserve(tensors->size());
  for (const json& entry : *tensors) {
    Fault bad = read_tensor(entry, workload.tensors.emplace_back());
    if (!bad.empty()) return cat("tensors[", workload.tensors.size() - 1, "]: ", bad);
  }
  Fault bad = read_number(document, "compute_us", false, workload.compute_us);
  return !bad.empty() ? bad : read_number(document, "forward_us", false, workload.forward_us);
}

}  // namespace

Result<sim::Workload> read_trace(const std::string& path) {
  const auto wrong = [&](std::string_view why) {
    return Status(Code::invalid_argument, cat("--trace ", path, ": ", why));
  };
  constexpr const char* kForm =
      R"(it is not {"tensors":[{"name":"…","bytes":…,"ready_us":…},…]})";
  std::ifstream file(path);
  if (!file) return wrong("the file cannot be read");
  sim::Workload workload;
  workload.name = path;
  Fault bad;
  try {
    bad = read_document(json::parse(file), workload);
  } catch (const json::exception& error) {
    bad = parse_fault(error);
  }
  if (!bad.empty()) return wrong(cat(kForm, ": ", bad));
  if (Status impossible = sim::finish_workload(workload); !impossible.ok()) return impossible;
  return workload;
}

}  // namespace unisono::tools
