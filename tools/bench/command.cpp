// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/command.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "base/data/text.hpp"
#include "bench/arguments.hpp"
#include "processes/capture.hpp"
#include "processes/interrupt.hpp"
#include "bench/plot.hpp"
#include "bench/report.hpp"
#include "bench/stage.hpp"
#include "exit_codes.hpp"
#include "move/collective.hpp"
#include "progress_bar.hpp"
#include "transport/registry.hpp"

namespace unisono::tools {
namespace {

void print_list(const BenchSettings& settings) {
  std::cout << "Collectives and their algorithms\n";
  for (const move::AlgorithmRow& row : move::algorithm_table()) {
    if (row.kind == Collective::barrier) continue;
    std::printf("  %-14s %-9s %-20s %s\n", std::string(name_of(row.kind)).c_str(),
                row.by == move::MovesBy::memory ? "memory" : "messages",
                std::string(row.name).c_str(), std::string(row.about).c_str());
  }
  std::cout << "  --algorithm pins those over messages; auto tries the most promising and keeps the "
               "fastest\n  for each size, which --explain tells.\n"
            << "Transports, the first that two ranks can use\n";
  for (const transport::TransportRow& row : transport::transport_table()) {
    std::printf("  %-14s %s\n", std::string(row.name).c_str(), std::string(row.about).c_str());
  }
  std::cout << "Element types\n ";
  for (int i = 0; i < kDTypeCount; ++i) std::cout << " " << bench_name(static_cast<DType>(i));
  std::cout << "\nPeers\n" << std::flush;
  for (const std::string_view name : kPeerNames) {
    const Peer peer = find_peer(std::string(name), settings.peer_pythons);
    std::cout << "  " << name << ": "
              << (peer.missing.empty() ? cat(peer.version, ", ", peer.python)
                                       : cat("not found: ", peer.missing))
              << "\n";
  }
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (file.flush()) return true;
  std::cerr << "unisono bench: cannot write " << path << "\n";
  return false;
}

bool write_plot(const std::string& path, const std::string& svg) {
  if (!path.ends_with(".png")) return write_file(path, svg);
  const std::string drawing = path + ".svg";
  if (!write_file(drawing, svg)) return false;
  const Captured made = capture({"rsvg-convert", "-z", "2", "-o", path, drawing});
  ::unlink(drawing.c_str());
  if (made.exit_code == 0) return true;
  std::cerr << "unisono bench: rsvg-convert could not write " << path << ": " << made.err << "\n";
  return false;
}

int deliver(const BenchSettings& settings, const Machine& machine, const Measurement& measured) {
  bool written = true;
  if (settings.json == "-") {
    std::cout << json_text(settings, machine, measured) << std::flush;
  } else {
    std::cout << table_text(settings, machine, measured) << std::flush;
    if (!settings.json.empty()) {
      written = write_file(settings.json, json_text(settings, machine, measured));
    }
  }
  if (!settings.plot.empty()) {
    written = write_plot(settings.plot, plot_svg(settings, machine, measured)) && written;
  }
  return measured.ours_failed || measured.rows.empty() || !written ? kJobFailed : kSuccess;
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::cerr << "unisono bench: " << note << "\n";
}

}  // namespace

int bench_command(std::vector<std::string> arguments) {
  BenchArguments parsed = parse_bench_arguments(std::move(arguments));
  if (parsed.exit_code >= 0) return parsed.exit_code;
  const BenchSettings& settings = parsed.settings;
  if (parsed.list) {
    print_list(settings);
    return kSuccess;
  }
  if (settings.plot.ends_with(".png") && find_on_path("rsvg-convert").empty()) {
    std::cerr << "unisono bench: a .png needs rsvg-convert (Debian: librsvg2-bin); "
                 "or ask for a .svg, which needs nothing\n";
    return kMachineLacks;
  }
  watch_for_interrupt();
  ProgressBar bar(!settings.quiet);
  bar.show(0, "starting");
  Machine machine = this_machine();
  auto stage = set_stage(settings, machine);
  if (interrupted() != 0) return kSignalBase + interrupted();
  if (!stage) {
    std::cerr << "unisono bench: " << stage.status().message() << "\n";
    return kJobFailed;
  }
  print_notes(stage->notes);
  const Measurement measured =
      measure(settings, stage->contenders,
              [&](double done, const std::string& now) { bar.show(done, now); });
  bar.clear();
  if (interrupted() != 0) return kSignalBase + interrupted();
  print_notes(measured.notes);
  return deliver(settings, machine, measured);
}

}  // namespace unisono::tools
