// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/codec/command.hpp"
#include "bench/command.hpp"
#include "bench/sparse/command.hpp"
#include "bench/step/command.hpp"
#include "bench/worker.hpp"
#include "doctor/command.hpp"
#include "exit_codes.hpp"
#include "opt/command.hpp"
#include "run/agent.hpp"
#include "run/command.hpp"
#include "simulate/command.hpp"
#include "study/command.hpp"
#include "trace/command.hpp"
#include "unisono/options.hpp"

int main(int argc, char** argv) {
  using namespace unisono::tools;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  // Programs have arguments of their own, so `run` splits its line before anything is parsed.
  if (!arguments.empty() && arguments[0] == "run") {
    return run_command({arguments.begin() + 1, arguments.end()});
  }
  if (arguments.size() > 1 && arguments[0] == "bench" && arguments[1] == "step") {
    return bench_step_command({arguments.begin() + 2, arguments.end()});
  }
  if (arguments.size() > 1 && arguments[0] == "bench" && arguments[1] == "sparse") {
    return bench_sparse_command({arguments.begin() + 2, arguments.end()});
  }
  if (arguments.size() > 1 && arguments[0] == "bench" && arguments[1] == "codec") {
    return bench_codec_command({arguments.begin() + 2, arguments.end()});
  }
  if (!arguments.empty() && arguments[0] == "bench") {
    return bench_command({arguments.begin() + 1, arguments.end()});
  }
  if (!arguments.empty() && arguments[0] == "simulate") {
    return simulate_command({arguments.begin() + 1, arguments.end()});
  }
  if (!arguments.empty() && arguments[0] == "study") {
    return study_command({arguments.begin() + 1, arguments.end()});
  }
  if (!arguments.empty() && arguments[0] == "opt") {
    return opt_command({arguments.begin() + 1, arguments.end()});
  }
  if (!arguments.empty() && arguments[0] == "trace") {
    return trace_command({arguments.begin() + 1, arguments.end()});
  }
  if (!arguments.empty() && arguments[0] == "doctor") {
    return doctor_command({arguments.begin() + 1, arguments.end()});
  }
  if (!arguments.empty() && arguments[0] == "__agent") return serve_as_agent();
  if (arguments.size() == 2 && arguments[0] == "__bench-worker") {
    return serve_as_bench_worker(arguments[1]);
  }

  CLI::App app{"unisono: gradient exchange for data-parallel training", "unisono"};
  app.set_version_flag("--version", "unisono " UNISONO_VERSION_TEXT);
  app.require_subcommand(1);
  app.add_subcommand("run", "start a program as the ranks of one job (unisono run --help)");
  app.add_subcommand("bench", "measure collectives, beside peers (unisono bench --help)");
  app.add_subcommand("simulate", "predict steps elsewhere (unisono simulate --help)");
  app.add_subcommand("study", "follow a figure over numbers of ranks (unisono study --help)");
  app.add_subcommand("opt", "train linear models on sparse data (unisono opt --help)");
  app.add_subcommand("trace", "what a recorded run did (unisono trace --help)");
  app.add_subcommand("doctor", "examine this machine and others (unisono doctor --help)");
  auto* options = app.add_subcommand("options", "print the table of all options");
  app.footer(
      "Exit codes: 0 success, 1 the job failed, 2 wrong usage, 3 the machine lacks something.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kWrongUsage;
  }
  if (options->parsed()) std::cout << unisono::option_table_markdown();
  return kSuccess;
}
