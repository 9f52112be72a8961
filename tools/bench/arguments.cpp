// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <utility>

#include "base/data/text.hpp"
#include "bench/pattern.hpp"
#include "command_line.hpp"
#include "exit_codes.hpp"
#include "model/options/option_values.hpp"
#include "move/collective.hpp"
#include "unisono/options.hpp"

namespace unisono::tools {
namespace {

constexpr const char* kFooter =
    R"(Bytes are what each rank contributes; sizes take K, M and G. Contenders take turns on the
same work in rotating order; buffers change between iterations and every result is checked.

A peer's Python is the one given by --peer-python, by UNISONO_PEER_<NAME>_PYTHON, or python3; it
needs numpy and mpi4py (openmpi, mpich), torch (gloo), or torch and horovod.

Examples:
  unisono bench allreduce -np 2 --bytes 8,64K,1M,64M
  unisono bench allreduce -np 2 --bytes 64M --arena --limit
  unisono bench allreduce -np 4 --peers openmpi,gloo --peer-python openmpi=/opt/mpi/bin/python
  unisono bench allreduce -np 2 --transport tcp --algorithm all --plot algorithms.svg
  unisono bench allreduce -np 4 --transport tcp --bytes 8,64K,1M --explain
  unisono bench alltoall -np 4 --dtype fp32,bf16 --json -
  unisono bench --list

Exit codes: 0 success; 1 unisono failed or gave a wrong result; 2 wrong usage; 3 the machine lacks
something. A peer that is missing or fails is named on standard error and is not an error.)";

constexpr Collective kCollectives[] = {Collective::allreduce, Collective::allgather,
                                       Collective::broadcast, Collective::reducescatter,
                                       Collective::alltoall};

struct Line {
  std::string collective, algorithm = "auto";
  std::vector<std::string> bytes{"8", "1K", "64K", "1M", "16M"}, dtypes{"fp32"}, pythons;
};

void describe(CLI::App& app, Line& line, BenchArguments& out) {
  BenchSettings& s = out.settings;
  app.name("unisono bench");
  app.description(
      "Measures a collective, beside other implementations where they are installed:\n"
      "  unisono bench allreduce|allgather|broadcast|reducescatter|alltoall -np N [options]\n"
      "or replays a whole training step under several planners (unisono bench step --help), sums "
      "sparse vectors\n(unisono bench sparse --help), or measures codecs (unisono bench codec "
      "--help).");
  app.footer(kFooter);
  app.add_option("collective", line.collective, "what to measure");
  app.add_option("-n,--np,--num-proc", s.ranks, "how many ranks on this machine (also -np)")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  // Lists are written with commas; without this they would swallow the word that follows them.
  constexpr bool kNoMore = false;
  app.add_option("--bytes", line.bytes, "sizes: 8,64K,1M,64M")
      ->delimiter(',')
      ->allow_extra_args(kNoMore)
      ->capture_default_str();
  app.add_option("--dtype", line.dtypes, "element types, or all: fp32,bf16,int8 (see --list)")
      ->delimiter(',')
      ->allow_extra_args(kNoMore)
      ->capture_default_str();
  app.add_option("--algorithm", line.algorithm, "auto, one of --list, or all")
      ->capture_default_str();
  app.add_option("--transport", s.transport, "auto, shm or tcp; also asked of Open MPI and MPICH")
      ->capture_default_str();
  app.add_flag("--arena", s.arena, "also with tensors that live in the arena");
  app.add_flag("--persistent", s.persistent, "also as a prepared allreduce");
  app.add_flag("--limit", s.limit, "also this machine's memory limit for an allreduce");
  app.add_flag("--explain", s.explain,
               "also what links cost, which algorithms were tried for each size, and why one was "
               "chosen");
  app.add_option("--peers", s.peers, "openmpi, mpich, gloo, horovod, or all")
      ->delimiter(',')
      ->allow_extra_args(kNoMore);
  app.add_option("--peer-python", line.pythons, "NAME=PATH of the Python that has the peer")
      ->allow_extra_args(false);
  app.add_option("--repetitions", s.repetitions, "rounds of about 50 ms per contender and size")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--min-time", s.min_time_s, "seconds to spend on each contender and size at least")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--json", s.json, "write the results as JSON to FILE, or - for standard output");
  app.add_option("--plot", s.plot, "draw time against size into FILE.svg or FILE.png");
  app.add_flag("--list", out.list, "print collectives, algorithms, element types and peers found");
  app.add_flag("-q,--quiet", s.quiet, "no progress bar");
}

Status wrong(std::string message) { return Status(Code::invalid_argument, std::move(message)); }

// Returns " (did you mean X?)" when the word looks like a misspelling of a known one.
std::string hint(const std::string& word, const std::vector<std::string_view>& known) {
  const std::string_view near = nearest(word, known);
  return near.empty() ? cat("; one of ", join_text(known)) : cat("; did you mean ", near, "?");
}

Status read_collective(const std::string& word, BenchSettings& settings) {
  std::vector<std::string_view> known;
  for (const Collective kind : kCollectives) {
    known.push_back(name_of(kind));
    if (word == known.back()) {
      settings.collective = kind;
      return {};
    }
  }
  if (word.empty()) return wrong(cat("measure what? One of ", join_text(known)));
  return wrong(cat("no collective \"", word, "\"", hint(word, known)));
}

Status read_sizes(const std::vector<std::string>& texts, BenchSettings& settings) {
  for (const std::string& text : texts) {
    const auto bytes = parse_bytes(text);
    if (!bytes || *bytes <= 0) {
      return wrong(cat("--bytes ", text, ": write sizes above 0 as 8, 64K, 1M or 2G"));
    }
    settings.sizes.push_back(*bytes);
  }
  return {};
}

Status read_dtypes(const std::vector<std::string>& words, BenchSettings& settings) {
  std::vector<std::string_view> known;
  for (int i = 0; i < kDTypeCount; ++i) known.push_back(bench_name(static_cast<DType>(i)));
  for (const std::string& word : words) {
    if (word == "all") {
      for (int i = 0; i < kDTypeCount; ++i) settings.dtypes.push_back(static_cast<DType>(i));
      continue;
    }
    const auto dtype = dtype_from(word);
    if (!dtype) return wrong(cat("no element type \"", word, "\"", hint(word, known)));
    settings.dtypes.push_back(*dtype);
  }
  for (const DType dtype : settings.dtypes) {
    if (settings.ranks > ranks_checkable(dtype)) {
      return wrong(cat("sums of ", settings.ranks, " ranks are not exact in ", bench_name(dtype),
                       ", so results could not be checked; at most ", ranks_checkable(dtype)));
    }
  }
  return {};
}

Status read_algorithms(const std::string& word, BenchSettings& settings) {
  std::vector<std::string_view> known{"auto", "all"};
  for (const move::AlgorithmRow& row : move::algorithm_table()) {
    if (row.by == move::MovesBy::messages && row.kind == settings.collective) {
      known.push_back(row.name);
    }
  }
  if (std::find(known.begin(), known.end(), word) == known.end()) {
    return wrong(cat("no algorithm \"", word, "\" for ", name_of(settings.collective),
                     hint(word, known)));
  }
  settings.algorithms = {word == "all" ? "auto" : word};
  if (word == "all") {
    settings.algorithms.insert(settings.algorithms.end(), known.begin() + 2, known.end());
  }
  return {};
}

Status read_peers(const std::vector<std::string>& pythons, BenchSettings& settings) {
  const std::vector<std::string_view> known(std::begin(kPeerNames), std::end(kPeerNames));
  const auto is_known = [&](std::string_view name) {
    return std::find(known.begin(), known.end(), name) != known.end();
  };
  if (settings.peers == std::vector<std::string>{"all"}) {
    settings.peers.assign(known.begin(), known.end());
  }
  for (const std::string& name : settings.peers) {
    if (!is_known(name)) return wrong(cat("no peer \"", name, "\"", hint(name, known)));
  }
  for (const std::string& pair : pythons) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || !is_known(pair.substr(0, equals))) {
      return wrong(cat("--peer-python ", pair, ": write NAME=PATH with a NAME of ",
                       join_text(known)));
    }
    settings.peer_pythons[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return {};
}

Status check_rest(BenchSettings& settings) {
  Options options;
  if (Status bad = options.set("transport", settings.transport); !bad.ok()) return bad;
  const bool allreduce = settings.collective == Collective::allreduce;
  if (settings.persistent && !allreduce) return wrong("--persistent is for allreduce alone");
  if (settings.limit && !allreduce) return wrong("--limit is the limit of an allreduce");
  if (!settings.plot.empty() && !settings.plot.ends_with(".svg") &&
      !settings.plot.ends_with(".png")) {
    return wrong(cat("--plot ", settings.plot, ": end the name in .svg or .png"));
  }
  return {};
}

}  // namespace

BenchArguments parse_bench_arguments(std::vector<std::string> arguments) {
  BenchArguments out;
  Line line;
  CLI::App app;
  describe(app, line, out);
  out.settings.command = cat("unisono bench ", join_text(arguments, " "));
  std::replace(arguments.begin(), arguments.end(), std::string("-np"), std::string("--np"));
  if (const auto over = read_command_line(app, std::move(arguments))) {
    out.exit_code = *over;
    return out;
  }
  BenchSettings& settings = out.settings;
  Status bad = read_peers(line.pythons, settings);
  if (!out.list) {
    if (bad.ok()) bad = read_collective(line.collective, settings);
    if (bad.ok()) bad = read_sizes(line.bytes, settings);
    if (bad.ok()) bad = read_dtypes(line.dtypes, settings);
    if (bad.ok()) bad = read_algorithms(line.algorithm, settings);
    if (bad.ok()) bad = check_rest(settings);
  }
  if (!bad.ok()) {
    std::cerr << "unisono bench: " << bad.message() << "\nTry: unisono bench --help\n";
    out.exit_code = kWrongUsage;
  }
  return out;
}

}  // namespace unisono::tools
