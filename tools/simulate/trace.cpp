// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/trace.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/data/text.hpp"

namespace unisono::tools {
namespace {

using nlohmann::json;

constexpr std::size_t kTensorsMax = 1'000'000;
constexpr std::int64_t kFileMax = std::int64_t{4} << 30;  // a text within it is held as a whole

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

// Reads a document piece by piece: what is not part of the form is dropped as it comes, and so is
// every tensor once it has been read, so that a recording of gigabytes takes no memory.
class TraceReader {
 public:
  explicit TraceReader(sim::Workload& workload) : workload_(workload) {}

  // What the parser asks for every piece: whether to keep it.
  bool keep(int depth, json::parse_event_t event, const json& piece) {
    using Event = json::parse_event_t;
    if (depth == 0 && event == Event::array_start) return false;
    if (depth == 1 && event == Event::key) return begin_member(piece.get_ref<const std::string&>());
    if (!in_tensors_ || depth < 2) return true;
    const bool piece_of_list = depth == 2;
    if (!piece_of_list) return true;
    if (event == Event::object_start) return true;
    if (event == Event::key) return true;
    add(piece, event == Event::object_end);
    return false;
  }
  Fault finish(const json& document) {
    if (!document.is_object()) return "not an object";
    const auto tensors = document.find("tensors");
    if (tensors == document.end()) {
      return recording_ ? "\"tensors\" is missing: it looks like a recording; make a trace of it "
                          "with unisono trace compact"
                        : "\"tensors\" is missing";
    }
    if (!tensors->is_array()) return "\"tensors\" is not a list";
    if (count_ > kTensorsMax) {
      return cat(count_, " tensors, of which at most ", kTensorsMax, " can be simulated");
    }
    if (!first_.empty()) return first_;
    Fault bad = read_number(document, "compute_us", false, workload_.compute_us);
    return !bad.empty() ? bad : read_number(document, "forward_us", false, workload_.forward_us);
  }

 private:
  bool begin_member(const std::string& name) {
    in_tensors_ = name == "tensors";
    recording_ |= name == "traceEvents";
    return in_tensors_ || name == "compute_us" || name == "forward_us";
  }
  void add(const json& entry, bool object) {
    if (++count_ > kTensorsMax || !first_.empty()) return;
    Fault bad = object ? read_tensor(entry, workload_.tensors.emplace_back()) : "not an object";
    if (!bad.empty()) first_ = cat("tensors[", count_ - 1, "]: ", bad);
  }

  sim::Workload& workload_;
  bool in_tensors_ = false, recording_ = false;
  std::size_t count_ = 0;
  Fault first_;                         // of the first tensor that has one
};

}  // namespace

Result<sim::Workload> read_trace(const std::string& path) {
  const auto wrong = [&](std::string_view why) {
    return Status(Code::invalid_argument, cat("--trace ", path, ": ", why));
  };
  constexpr const char* kForm =
      R"(it is not {"tensors":[{"name":"…","bytes":…,"ready_us":…},…]})";
  // Of a folder a stream can be opened, and is as long as can be.
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) return wrong("it is a folder; name a file");
  std::ifstream file(path);
  if (!file) return wrong("the file cannot be read");
  file.seekg(0, std::ios::end);
  const auto size = static_cast<std::int64_t>(file.tellg());
  if (size > kFileMax) {
    return wrong(cat("it has ", size, " bytes, of which at most ", kFileMax, " are read; make a ",
                     "trace of one step with unisono trace compact"));
  }
  file.clear();                         // what cannot seek is read all the same
  if (size > 0) file.seekg(0);
  sim::Workload workload;
  workload.name = path;
  Fault bad;
  try {
    TraceReader reader(workload);
    const json document = json::parse(file, [&](int depth, json::parse_event_t event, json& piece) {
      return reader.keep(depth, event, piece);
    });
    bad = reader.finish(document);
  } catch (const json::exception& error) {
    bad = parse_fault(error);
  }
  if (!bad.empty()) return wrong(cat(kForm, ": ", bad));
  if (Status impossible = sim::finish_workload(workload); !impossible.ok()) return impossible;
  return workload;
}

}  // namespace unisono::tools
