// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <utility>

#include "base/data/text.hpp"
#include "command_line.hpp"
#include "exit_codes.hpp"
#include "trace/merge.hpp"
#include "trace/summary.hpp"

namespace unisono::tools {
namespace {

constexpr const char* kFooter =
    R"(A trace is what `unisono run --trace FILE.json` writes, for Perfetto and for these:

Examples:
  unisono run -np 2 --trace run.json python train.py
  unisono trace summary run.json
  unisono trace compact run.json -o step.json
  unisono simulate --trace step.json --ranks 64 --network 10gbe --planner all
  unisono trace merge part.json part.1.json -o run.json    # what UNISONO_TRACE=part.json wrote

Exit codes: 0 success; 1 a file cannot be written; 2 wrong usage, or no trace.)";

struct Line {
  std::string file, out, json;
  std::vector<std::string> parts;
};

int refuse(const Status& status) {
  std::cerr << "unisono trace: " << status.message() << "\n";
  return status.code() == Code::invalid_argument ? kWrongUsage : kJobFailed;
}

int put(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::cout << text << std::flush;
    return kSuccess;
  }
  std::ofstream file(path);
  file << text;
  if (file.flush()) return kSuccess;
  std::cerr << "unisono trace: cannot write " << path << "\n";
  return kJobFailed;
}

int summary(const Line& line) {
  auto recording = read_recording(line.file);
  if (!recording) return refuse(recording.status());
  const Summary found = summarize(*recording);
  if (line.json != "-") std::cout << summary_text(line.file, found) << std::flush;
  return line.json.empty() ? kSuccess : put(line.json, summary_json(line.file, found));
}

int compact(const Line& line) {
  auto recording = read_recording(line.file);
  if (!recording) return refuse(recording.status());
  auto steps = find_steps(*recording);
  if (!steps) {
    return refuse(Status(steps.status().code(), cat(line.file, ": ", steps.status().message())));
  }
  if (const int code = put(line.out, compact_json(*steps, recording->ranks.size())); code != 0) {
    return code;
  }
  if (line.out == "-") return kSuccess;
  std::cout << line.out << ": " << steps->tensors.size() << " tensors, " << steps->bytes()
            << " bytes, from " << steps->count - 1 << " steps of " << recording->ranks.size()
            << " ranks\n";
  if (steps->by_sizes) {
    std::cout << "no name comes twice: steps were told by sizes, and tensors are called by place\n";
  }
  if (steps->left_out > 0) {
    std::cout << "left out: " << steps->left_out << " tensors that do not come once a step\n";
  }
  if (steps->early > 0) {
    std::cout << steps->early << " times a tensor was ready before the step before it had ended: "
              << "communication and the next step's compute overlap, so times are shorter than the "
              << "compute\n";
  }
  return kSuccess;
}

int merge(const Line& line) {
  auto merged = merge_parts(line.parts, line.out);
  if (!merged) return refuse(merged.status());
  std::cout << line.out << ": " << merged->events << " events of " << merged->clocks.size()
            << " ranks";
  if (merged->lost_lines > 0) std::cout << "; " << merged->lost_lines << " torn lines left out";
  std::cout << "\n";
  return kSuccess;
}

}  // namespace

int trace_command(std::vector<std::string> arguments) {
  Line line;
  CLI::App app{"Reads traces of runs.", "unisono trace"};
  app.footer(kFooter);
  app.require_subcommand(1);
  auto* summarized = app.add_subcommand("summary", "steps, buckets, skew and wire time of a trace");
  summarized->add_option("FILE", line.file, "the trace")->required();
  summarized->add_option("--json", line.json, "the same as JSON to FILE, or - for standard output");
  auto* compacted = app.add_subcommand("compact", "one step, for unisono simulate --trace");
  compacted->add_option("FILE", line.file, "the trace")->required();
  compacted->add_option("-o,--out", line.out, "where to, or - for standard output")->required();
  auto* merged = app.add_subcommand("merge", "one trace, or timeline, of the parts of ranks");
  merged->add_option("PARTS", line.parts, "what each rank has written")->required();
  merged->add_option("-o,--out", line.out, "where to")->required();
  if (const auto over = read_command_line(app, std::move(arguments))) return *over;
  if (summarized->parsed()) return summary(line);
  return compacted->parsed() ? compact(line) : merge(line);
}

}  // namespace unisono::tools
