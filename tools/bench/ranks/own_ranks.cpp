// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/own_ranks.hpp"

#include <signal.h>

#include <fstream>
#include <iostream>

#include "base/data/text.hpp"
#include "exit_codes.hpp"
#include "processes/capture.hpp"
#include "processes/child.hpp"
#include "processes/interrupt.hpp"

namespace unisono::tools {
namespace {

void say_line(const nlohmann::json& line) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  std::cout << line.dump(-1, ' ', false, kReplace) << "\n" << std::flush;
}

}  // namespace

Result<Options> options_with(const std::vector<std::pair<std::string, std::string>>& given) {
  auto options = Options::from_environment();
  if (!options) return options.status();
  for (const auto& [key, value] : given) {
    if (Status bad = options->set(key, value); !bad.ok()) return bad;
  }
  if (Status bad = options->validate(); !bad.ok()) return bad;
  return options;
}

void complain_about(const std::string& what, const std::string& message) {
  std::cerr << "unisono bench " << what << ": " << message << "\n";
}

bool write_whole(const std::string& what, const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (file.flush()) return true;
  complain_about(what, cat("cannot write ", path));
  return false;
}

void RankProgress::show(double done, const std::string& now) {
  if (!reports_) return;
  if (!lines_) {
    bar_.show(done, now);
    return;
  }
  const auto time = std::chrono::steady_clock::now();
  if (time < next_) return;
  next_ = time + std::chrono::milliseconds(100);
  say_line({{"done", done}, {"now", now}});
}

void say_results(const nlohmann::json& results) { say_line({{"results", results}}); }

OwnRanks run_own_ranks(const std::string& what, int ranks, bool quiet,
                       const std::vector<std::string>& arguments) {
  OwnRanks out;
  const std::string self = own_path();
  std::vector<std::string> command{self, "run", "-np", std::to_string(ranks), "--no-prefix",
                                   self, "bench", what, "--lines"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ::signal(SIGPIPE, SIG_IGN);
  watch_for_interrupt();
  ProgressBar bar(!quiet);
  auto child = Child::run(command);
  if (!child) {
    complain_about(what, child.status().message());
    out.exit_code = kMachineLacks;
    return out;
  }
  child->close_input();
  const auto read_lines = [&] {
    while (auto text = child->take_line()) {
      auto line = nlohmann::json::parse(*text, nullptr, false);
      try {
        if (line.is_object() && line.contains("results")) {
          out.results = std::move(line.at("results"));
        } else if (line.is_object() && line.contains("done")) {
          bar.show(line.at("done").get<double>(), line.value("now", ""));
        }
      } catch (const nlohmann::json::exception&) {
        // A line that is none of ours.
      }
    }
  };
  Child* const children[] = {&*child};
  pump_until(children, kNever, [&] { return child->ended(); }, read_lines);
  read_lines();
  bar.clear();
  if (interrupted() != 0) {
    return {kSignalBase + interrupted(), std::nullopt};
  }
  std::cerr << child->err() << std::flush;
  if (child->exit_code() != 0 || !out.results) {
    if (child->exit_code() == 0) complain_about(what, "the ranks ended without a result");
    const int code = child->exit_code();
    return {code == kWrongUsage || code == kMachineLacks ? code : kJobFailed, std::nullopt};
  }
  return out;
}

}  // namespace unisono::tools
