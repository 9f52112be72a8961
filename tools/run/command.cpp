// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/command.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/os/retry.hpp"
#include "base/data/text.hpp"
#include "command_line.hpp"
#include "exit_codes.hpp"
#include "processes/capture.hpp"
#include "rendezvous/handshake/handshake.hpp"
#include "run/launcher.hpp"
#include "run/output.hpp"
#include "run/recordings.hpp"
#include "run/host_layout.hpp"
#include "unisono/options.hpp"

extern char** environ;

namespace unisono::tools {
namespace {

constexpr const char* kFooter =
    R"(Everything after PROGRAM belongs to it. Lines of the ranks are printed as "[rank] line".

Examples:
  unisono run -np 2 python train.py --epochs 3
  unisono run -np 4 --transport tcp --set fusion_bytes=1M ./my_program
  unisono run -H node1:4,node2:4 -x PYTHONPATH python train.py
  unisono run -np 2 --trace run.json python train.py    # then: unisono trace summary run.json
  unisono run -np 2 --timeout 600 --json verdict.json ./my_program

Exit codes: 0 all ranks succeeded; 1 the job failed; 2 wrong usage; 3 the machine lacks something
(the program, ssh, unisono on a host); 130 or 143 ended by Ctrl-C or SIGTERM.)";

struct Line {
  RunSettings settings;
  int count = 0;
  std::string hosts, hostfile;
  std::map<std::string, std::string> named;  // --transport and the like
  std::vector<std::string> set, exported;
  bool no_prefix = false, force_ssh = false;
};

void describe(CLI::App& app, Line& line) {
  app.description(
      "Starts a program as the ranks of one job:\n"
      "  unisono run -np N [-H host:slots,...] [options] PROGRAM ARGS...");
  app.name("unisono run");
  app.footer(kFooter);
  RunSettings& s = line.settings;
  app.add_option("-n,--np,--num-proc,--nproc-per-node", line.count, "how many ranks (also -np)")
      ->check(CLI::Range(1, 65536));
  app.add_option("-H,--hosts", line.hosts, "where: host:slots,...; default this machine");
  app.add_option("--hostfile", line.hostfile, "the same from a file: lines of \"host slots=N\"");
  for (const char* key : {"transport", "order", "pacing", "planner", "codec"}) {
    const auto row = std::find_if(option_table().begin(), option_table().end(),
                                  [&](const OptionRow& r) { return r.key == key; });
    const std::string help = row == option_table().end() ? "" : kind_text(row->kind);
    app.add_option(cat("--", key), line.named[key], help);
  }
  app.add_option("--set", line.set, "any option as key=value (see: unisono options); repeatable")
      ->allow_extra_args(false);
  app.add_option("-x,--export", line.exported, "NAME or NAME=value for ranks on other hosts")
      ->allow_extra_args(false);
  app.add_flag_callback(
      "--encrypt", [&line] { line.set.push_back("encrypt=true"); },
      "encrypt what travels between hosts");
  add_shell_options(app, s.shell);
  app.add_flag("--force-ssh", line.force_ssh, "use ssh for localhost too");
  app.add_option("--key-file", s.key_file, "32-byte job key, mode 0600; default a fresh one");
  app.add_flag("--no-prefix", line.no_prefix, "print lines as they are");
  app.add_option("--output-dir", s.output_dir, "also write rank.N.out and rank.N.err there");
  app.add_option("--json", s.json, "write the verdict as JSON to FILE, or - for standard output");
  app.add_option("--trace", s.recorded["UNISONO_TRACE"],
                 "write where the time of every bucket went to FILE.json (unisono trace --help)");
  app.add_option("--timeline", s.recorded["UNISONO_TIMELINE"],
                 "the same with a row for each tensor, as Horovod draws it");
  app.add_option("--timeout", s.timeout_s, "end the job after so many seconds")
      ->check(CLI::PositiveNumber);
  app.add_option("--grace", s.grace_s, "seconds the others get after the first failure")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--stdin", s.job.stdin_to_rank_0, "give standard input to rank 0");
}

// Returns how many leading arguments are options of `run`; the next one is PROGRAM.
std::size_t divide(const CLI::App& app, std::vector<std::string>& arguments) {
  std::size_t at = 0;
  while (at < arguments.size()) {
    std::string& word = arguments[at];
    if (word == "-np") word = "--np";
    if (word == "--" || word.empty() || word[0] != '-' || word == "-") break;
    const bool joined =
        word.starts_with("--") ? word.find('=') != std::string::npos : word.size() > 2;
    const CLI::Option* option =
        app.get_option_no_throw(joined && !word.starts_with("--") ? word.substr(0, 2) : word);
    const bool takes_value = option != nullptr && option->get_items_expected_max() > 0;
    at += takes_value && !joined ? 2 : 1;
  }
  return std::min(at, arguments.size());
}

int usage(const std::string& message) {
  std::cerr << "unisono run: " << message << "\nTry: unisono run --help\n";
  return kWrongUsage;
}

Status apply_options(const Line& line, JobSpec& job) {
  Options options;
  const auto apply = [&](const std::string& key, const std::string& value) -> Status {
    if (Status bad = options.set(key, value); !bad.ok()) return bad;
    for (const OptionRow& row : option_table()) {
      if (row.key == key) job.environment[std::string(row.variable)] = value;
    }
    return {};
  };
  for (const auto& [key, value] : line.named) {
    if (value.empty()) continue;
    if (Status bad = apply(key, value); !bad.ok()) return bad;
  }
  for (const std::string& pair : line.set) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) {
      return Status(Code::invalid_argument, cat("--set ", pair, ": write key=value"));
    }
    if (Status bad = apply(pair.substr(0, equals), pair.substr(equals + 1)); !bad.ok()) return bad;
  }
  return {};
}

Status choose_hosts(Line& line) {
  RunSettings& settings = line.settings;
  std::vector<HostSlots> hosts{{"localhost", std::max(line.count, 1)}};
  if (!line.hosts.empty() && !line.hostfile.empty()) {
    return Status(Code::invalid_argument, "give -H or --hostfile, not both");
  }
  if (!line.hosts.empty() || !line.hostfile.empty()) {
    std::string text = line.hosts;
    if (!line.hostfile.empty()) {
      std::ifstream file(line.hostfile);
      if (!file) return Status(Code::invalid_argument, cat("cannot read ", line.hostfile));
      text.assign(std::istreambuf_iterator<char>(file), {});
    }
    auto parsed = line.hosts.empty() ? parse_hostfile(text) : parse_hosts(text);
    if (!parsed) return parsed.status();
    hosts = std::move(*parsed);
  } else if (line.count == 0) {
    return Status(Code::invalid_argument, "how many ranks? Give -np N or -H host:slots,...");
  }
  auto plans = place(hosts, line.count);
  if (!plans) return plans.status();
  settings.hosts = std::move(*plans);
  settings.job.size = 0;
  bool all_here = true;
  for (HostPlan& plan : settings.hosts) {
    settings.job.size += static_cast<int>(plan.ranks.size());
    all_here = all_here && plan.local;
    // --rsh means that the names are not this machine's, whatever they look like.
    if (line.force_ssh || !settings.shell.rsh.empty()) plan.local = false;
  }
  settings.job.several_hosts = settings.hosts.size() > 1 && !(all_here && settings.shell.rsh.empty());
  if (settings.job.stdin_to_rank_0 && !settings.hosts.front().local) {
    return Status(Code::invalid_argument,
                  cat("--stdin: rank 0 would run on ", settings.hosts.front().host,
                      ", where this input does not reach it; name this machine first"));
  }
  return {};
}

// What the other hosts cannot know: options of this environment, what -x names, the folder.
void forward_environment(const Line& line, JobSpec& job) {
  const bool any_remote = std::any_of(line.settings.hosts.begin(), line.settings.hosts.end(),
                                      [](const HostPlan& plan) { return !plan.local; });
  for (char** at = environ; any_remote && *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const std::size_t equals = entry.find('=');
    if (!entry.starts_with("UNISONO_") || equals == std::string_view::npos) continue;
    job.environment.try_emplace(std::string(entry.substr(0, equals)), entry.substr(equals + 1));
  }
  for (const std::string& name : line.exported) {
    const std::size_t equals = name.find('=');
    if (equals != std::string::npos) {
      job.environment[name.substr(0, equals)] = name.substr(equals + 1);
    } else if (const char* value = std::getenv(name.c_str())) {
      job.environment[name] = value;
    }
  }
  char folder[4096];
  if (::getcwd(folder, sizeof folder) != nullptr) job.folder = folder;
}

bool can_run(const std::string& program) {
  if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0;
  std::string_view path = std::getenv("PATH") == nullptr ? "/usr/bin:/bin" : std::getenv("PATH");
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(':'), path.size());
    if (::access(cat(path.substr(0, end), "/", program).c_str(), X_OK) == 0) return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

Result<rendezvous::JobKey> key_for(const std::string& path) {
  if (path.empty()) return rendezvous::make_job_key();
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  rendezvous::JobKey key;
  if (!file.valid() || ::fstat(file.get(), &about) != 0) {
    return Status(Code::invalid_argument, cat("--key-file ", path, ": ", std::strerror(errno)));
  }
  if ((about.st_mode & 077) != 0 || about.st_uid != ::geteuid()) {
    return Status(Code::invalid_argument,
                  cat("--key-file ", path, " must be private; chmod 600 it"));
  }
  if (about.st_size != static_cast<off_t>(key.size()) ||
      retried([&] { return ::read(file.get(), key.data(), key.size()); }) !=
          static_cast<ssize_t>(key.size())) {
    return Status(Code::invalid_argument, cat("--key-file ", path, " must hold exactly 32 bytes; ",
                                              "head -c 32 /dev/urandom makes one"));
  }
  return key;
}

int deliver(const RunSettings& settings, const JobEnd& end) {
  write_all(2, verdict_text(end));
  if (settings.json.empty()) return end.exit_code;
  if (settings.json == "-") {
    write_all(1, verdict_json(end));
    return end.exit_code;
  }
  std::ofstream file(settings.json);
  file << verdict_json(end);
  if (!file.flush()) {
    std::cerr << "unisono run: cannot write " << settings.json << "\n";
    return end.exit_code == 0 ? kJobFailed : end.exit_code;
  }
  return end.exit_code;
}

}  // namespace

int run_command(std::vector<std::string> arguments) {
  Line line;
  CLI::App app;
  describe(app, line);
  const std::size_t program_at = divide(app, arguments);
  const std::vector<std::string> own(arguments.begin(),
                                     arguments.begin() + static_cast<std::ptrdiff_t>(program_at));
  if (const auto over = read_command_line(app, own)) return *over;
  RunSettings& settings = line.settings;
  auto rest = arguments.begin() + static_cast<std::ptrdiff_t>(program_at);
  if (rest != arguments.end() && *rest == "--") ++rest;
  settings.job.program.assign(rest, arguments.end());
  if (settings.job.program.empty()) return usage("which program? Write it after the options");
  settings.prefix = !line.no_prefix;
  if (settings.shell.remote_unisono.empty()) settings.shell.remote_unisono = own_path();
  if (Status bad = apply_options(line, settings.job); !bad.ok()) return usage(bad.message());
  if (Status bad = choose_hosts(line); !bad.ok()) return usage(bad.message());
  std::erase_if(settings.recorded, [](const auto& entry) { return entry.second.empty(); });
  if (Status bad = prepare_recordings(settings); !bad.ok()) return usage(bad.message());
  forward_environment(line, settings.job);
  auto key = key_for(settings.key_file);
  if (!key) return usage(key.status().message());
  if (settings.hosts.front().local && !can_run(settings.job.program.front())) {
    std::cerr << "unisono run: " << settings.job.program.front()
              << " was not found or cannot be executed; give its path or check PATH\n";
    return kMachineLacks;
  }
  JobEnd end = run_job(settings, *key);
  write_all(2, merge_recordings(settings, end));
  return deliver(settings, end);
}

}  // namespace unisono::tools
