// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/codec/command.hpp"

#include <iostream>
#include <new>

#include "bench/codec/arguments.hpp"
#include "bench/codec/measure.hpp"
#include "bench/codec/report.hpp"
#include "bench/ranks/own_ranks.hpp"
#include "exit_codes.hpp"
#include "progress_bar.hpp"

namespace unisono::tools {
namespace {

int measure_and_deliver(const CodecBenchSettings& settings) {
  const Machine machine = this_machine();
  ProgressBar bar(!settings.quiet);
  auto rows = measure_codecs(
      settings, [&](double done, const std::string& now) { bar.show(done, now); });
  bar.clear();
  if (!rows) {
    complain_about("codec", rows.status().to_string());
    return kJobFailed;
  }
  const std::string json = settings.json.empty() ? "" : codec_json(settings, machine, *rows);
  if (settings.json == "-") {
    std::cout << json << std::flush;
    return kSuccess;
  }
  std::cout << codec_table(settings, machine, *rows) << std::flush;
  return json.empty() || write_whole("codec", settings.json, json) ? kSuccess : kJobFailed;
}

}  // namespace

int bench_codec_command(std::vector<std::string> arguments) {
  const CodecArguments parsed = parse_codec_arguments(std::move(arguments));
  if (parsed.exit_code >= 0) return parsed.exit_code;
  try {
    return measure_and_deliver(parsed.settings);
  } catch (const std::bad_alloc&) {
    complain_about("codec",
                   "not enough memory for the tensor and what each codec keeps of it; give "
                   "fewer --bytes or one --codec at a time");
    return kMachineLacks;
  }
}

}  // namespace unisono::tools
