// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/sparse/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "base/data/text.hpp"
#include "bench/common_words.hpp"
#include "bench/settings.hpp"
#include "bench/sparse/inputs/oracle.hpp"
#include "model/options/option_values.hpp"
#include "move/collective.hpp"
#include "move/sparse/sparse.hpp"
#include "unisono/options.hpp"

namespace unisono::tools {
namespace {

constexpr const char* kFooter =
    R"(Every rank has some elements of a long vector, as indices and values, and all get the sum. A
density is the part of the vector that each rank has. Supports are where: uniform, anywhere; zipf,
index i in proportion to 1/(i+1); identical, the same on all ranks; disjoint, on one rank each.

All ways take turns in one job, on the same vectors, and results are checked, element by element.
Beside them stands the same vector, all of it sent, in an allreduce: by the algorithm ring over
messages, which "over dense" compares with, and by what the engine chooses. Bytes are those that a
rank sent on average, beside what the closed forms make of the expected counts, and of the counts
that these supports really have. Where ranks share memory, a dense allreduce goes through it and not
over messages; give --transport tcp, or several hosts, to compare like with like.

Without a launcher, -np processes are started here. Under `unisono run` each process is a rank, on
any hosts, and rank 0 reports.

Examples:
  unisono bench sparse -np 2
  unisono bench sparse -np 4 --transport tcp --bytes 64M --density 0.0078125
  unisono bench sparse -np 4 --length 16777216 --density 0.001,0.01,0.1 --plot sparse.svg
  unisono bench sparse -np 3 --support all --algorithm ssar_split_allgather,sparse_ring --json -
  unisono run -H one,two unisono bench sparse --integrity plain

Exit codes: 0 success; 1 the job failed or a sum was wrong; 2 wrong usage; 3 the machine lacks
something.)";

struct SparseLine {
  std::vector<std::string> bytes, lengths, dtypes{"fp32"}, densities{"0.0078125"},
      supports{"uniform"}, algorithms{"all"}, dense{"ring", "auto"};
  std::string transport, integrity;
  std::vector<std::string> set;
};

void describe_sparse(CLI::App& app, SparseLine& line, SparseBenchSettings& s) {
  const auto list = [&app](const char* name, std::vector<std::string>& into, const char* about) {
    return add_list(app, name, into, about);
  };
  app.name("unisono bench sparse");
  app.description(
      "Measures how sparse vectors are summed, beside the same vectors as dense ones.\n"
      "  unisono bench sparse -np N [--bytes 64M] [--density 0.0078125] [options]");
  app.footer(kFooter);
  app.add_option("-n,--np,--num-proc,--ranks", s.ranks, "how many to start here; 2 by default")
      ->check(CLI::Range(1, 1024));
  list("--bytes", line.bytes, "sizes of the dense vector: 1M,64M; 16M by default");
  list("--length", line.lengths, "the same in elements")->excludes("--bytes");
  list("--dtype", line.dtypes, "element types: fp32,bf16,int32")->capture_default_str();
  list("--density", line.densities, "parts of the vector that each rank has, above 0, at most 1")
      ->capture_default_str();
  list("--support", line.supports, "uniform, zipf, identical, disjoint, or all")
      ->capture_default_str();
  list("--algorithm", line.algorithms, "auto, names of docs/COMPRESSION.md, or all")
      ->capture_default_str();
  list("--dense", line.dense, "algorithms of the dense allreduce beside, or none")
      ->capture_default_str();
  app.add_option("--transport", line.transport, "auto, shm or tcp");
  app.add_option("--integrity", line.integrity, "auth or plain");
  app.add_option("--set", line.set, "any option as key=value (see: unisono options); repeatable")
      ->allow_extra_args(false);
  app.add_option("--repeat", s.repeat, "turns of each way")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--iterations", s.iterations, "calls in one turn; 0: about 50 ms of them")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  app.add_option("--warmup", s.warmup,
                 "calls of each way before it is measured; by default 3, and 24 of a dense "
                 "allreduce whose algorithms are on trial")
      ->check(CLI::Range(0, 100'000));
  app.add_option("--seed", s.seed, "of indices and values")->capture_default_str();
  app.add_option("--json", s.json, "write the results as JSON to FILE, or - for standard output");
  app.add_option("--plot", s.plot, "draw times against density as FILE.svg");
  app.add_flag("-q,--quiet", s.quiet, "no progress bar");
  app.add_flag("--lines", s.lines)->group("");  // for the ranks that this command starts itself
}

Result<double> density_from(const std::string& text) {
  std::size_t read = 0;
  double value = 0;
  try {
    value = std::stod(text, &read);
  } catch (const std::exception&) {
    read = 0;
  }
  if (read == 0 || read != text.size() || !(value > 0 && value <= 1)) {
    return wrong_word(cat("--density ", text, ": write parts above 0 and up to 1, as 0.01"));
  }
  return value;
}

struct SizedDtype {
  std::uint64_t length;
  DType dtype;
};

Result<std::vector<SizedDtype>> read_vectors(const SparseLine& line, int ranks) {
  constexpr std::int64_t kLengthMost = std::int64_t{1} << 32;
  std::vector<std::string_view> known;
  for (int i = 0; i < kDTypeCount; ++i) known.push_back(bench_name(static_cast<DType>(i)));
  const bool elements = !line.lengths.empty();
  const std::vector<std::string> usual{"16M"};
  std::vector<SizedDtype> out;
  for (const std::string& text : elements             ? line.lengths
                                 : line.bytes.empty() ? usual
                                                      : line.bytes) {
    const auto size = parse_bytes(text);
    if (!size || *size <= 0) {
      return wrong_word(cat(elements ? "--length " : "--bytes ", text,
                              ": write sizes above 0 as 8, 64K, 1M or 2G"));
    }
    for (const std::string& word : line.dtypes) {
      const auto dtype = dtype_from(word);
      if (!dtype) {
        return wrong_word(cat("no element type \"", word, "\"", instead_of(word, known)));
      }
      if (Status bad = SparseOracle::checkable(*dtype, std::max(ranks, 1)); !bad.ok()) return bad;
      const auto width = static_cast<std::int64_t>(size_of(*dtype));
      const std::int64_t length = elements ? *size : (*size + width - 1) / width;
      if (length > kLengthMost) {
        return wrong_word(cat(text, ": a vector of ", length, " elements; at most 2^32"));
      }
      out.push_back({static_cast<std::uint64_t>(length), *dtype});
    }
  }
  return out;
}

Result<std::vector<Support>> read_supports(const SparseLine& line) {
  std::vector<std::string_view> known;
  for (const Support each : kSupports) known.push_back(name_of(each));
  std::vector<Support> out;
  for (const std::string& word : line.supports) {
    if (word == "all") {
      out.assign(std::begin(kSupports), std::end(kSupports));
      return out;
    }
    const auto support = support_from(word);
    if (!support) return wrong_word(cat("no support \"", word, "\"", instead_of(word, known)));
    if (std::find(out.begin(), out.end(), *support) == out.end()) out.push_back(*support);
  }
  return out;
}

Status read_cases(const SparseLine& line, SparseBenchSettings& s) {
  auto vectors = read_vectors(line, s.ranks);
  if (!vectors) return vectors.status();
  auto supports = read_supports(line);
  if (!supports) return supports.status();
  for (const SizedDtype& vector : *vectors) {
    for (const Support support : *supports) {
      for (const std::string& text : line.densities) {
        auto density = density_from(text);
        if (!density) return density.status();
        const SparseBenchCase one{vector.length, vector.dtype, *density, support};
        // Without a number of ranks, the job says so later.
        if (s.ranks > 0) {
          if (Status bad = supportable(one.shape(s.ranks, s.seed)); !bad.ok()) return bad;
        }
        s.cases.push_back(one);
      }
    }
  }
  return {};
}

Status read_methods(const SparseLine& line, SparseBenchSettings& s) {
  const std::vector<SparseMethod> all = known_sparse_methods();
  std::vector<std::string> names{"all"};
  for (const SparseMethod& each : all) names.push_back(each.name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  for (const std::string& word : line.algorithms) {
    if (word == "all") {
      s.methods = all;
      return {};
    }
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&](const SparseMethod& each) { return each.name() == word; });
    if (at == all.end()) {
      return wrong_word(cat("no algorithm \"", word, "\"", instead_of(word, known)));
    }
    if (std::find(s.methods.begin(), s.methods.end(), *at) == s.methods.end()) {
      s.methods.push_back(*at);
    }
  }
  return {};
}

Status read_dense(const SparseLine& line, SparseBenchSettings& s) {
  std::vector<std::string_view> known{"none", "auto"};
  for (const move::AlgorithmRow& row : move::algorithm_table()) {
    if (row.by == move::MovesBy::messages && row.kind == Collective::allreduce) {
      known.push_back(row.name);
    }
  }
  s.dense.clear();
  for (const std::string& word : line.dense) {
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      return wrong_word(cat("no algorithm \"", word, "\" of a dense allreduce",
                              instead_of(word, known)));
    }
    if (word != "none" && std::find(s.dense.begin(), s.dense.end(), word) == s.dense.end()) {
      s.dense.push_back(word);
    }
  }
  return {};
}

Status read_sparse_options(const SparseLine& line, SparseBenchSettings& s) {
  if (Status bad = check_plot(s.plot); !bad.ok()) return bad;
  return read_engine_options({{"transport", line.transport}, {"integrity", line.integrity}},
                             line.set, "algorithm", "--algorithm and --dense", s.options);
}

}  // namespace

std::vector<SparseMethod> known_sparse_methods() {
  std::vector<SparseMethod> out{{"auto"}};
  for (const move::SparseRow& row : move::sparse_algorithm_table()) {
    out.push_back({std::string(row.name)});
    if (row.name != "dsar_split_allgather") continue;
    for (const int bits : {8, 4, 2}) out.push_back({std::string(row.name), bits});
  }
  return out;
}

SparseArguments parse_sparse_arguments(std::vector<std::string> arguments) {
  SparseArguments out;
  out.settings.command = cat("unisono bench sparse ", join_text(arguments, " "));
  SparseLine line;
  CLI::App app;
  describe_sparse(app, line, out.settings);
  out.exit_code = read_bench_line("unisono bench sparse", app, std::move(arguments), [&] {
    Status bad = read_cases(line, out.settings);
    if (bad.ok()) bad = read_methods(line, out.settings);
    if (bad.ok()) bad = read_dense(line, out.settings);
    return bad.ok() ? read_sparse_options(line, out.settings) : bad;
  });
  return out;
}

}  // namespace unisono::tools
