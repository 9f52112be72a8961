// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <thread>
#include <utility>

#include "base/data/text.hpp"
#include "command_line.hpp"
#include "exit_codes.hpp"
#include "opt/exchange/registry.hpp"

namespace unisono::tools {
namespace {

constexpr const char* kOptFooter =
    R"(Data is text as LIBSVM has it: a label, then index:value pairs with ascending indices from 1;
two labels; # begins a comment; files of gzip are unpacked. Every rank reads its part of the file.
What is minimised: the mean loss + l2/2 times the square of the weights.

Examples:
  unisono opt generate url --rows 100000 --out url.svm
  unisono opt generate url --rows 20000 --out held.svm --first-row 100000
  unisono opt train --loss logistic --data url.svm --held held.svm --model url.model
  unisono run -np 2 unisono opt train --data url.svm --exchange dense --json dense.json
  unisono run -np 2 unisono opt train --data url.svm --async --batch 2000 --epochs 5
  unisono opt train --solver scd --loss logistic --data url.svm --cache url.cache
  unisono opt predict --model url.model --data held.svm --json -

Exit codes: 0 success; 1 the job failed, or a file cannot be read or written; 2 wrong usage;
3 the machine lacks something, such as zlib for files of gzip.)";

void describe_files(CLI::App& app, OptArguments& out) {
  app.add_option("--json", out.json, "write the report as JSON to FILE, or - for standard output");
  app.add_option("--threads", out.train.threads, "of each rank")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_flag("-q,--quiet", out.quiet, "no progress bar");
}

void describe_rate(CLI::App& app, opt::RateSettings& rate) {
  app.add_option("--rate", rate.rate, "sgd: learning rate; 0: one that suits the data")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  std::map<std::string, opt::Schedule> schedules;
  std::string about = "sgd: how the rate falls";
  for (const opt::ScheduleRow& row : opt::kSchedules) {
    schedules[std::string(row.name)] = row.schedule;
    about += cat("; ", row.name, ": ", row.about);
  }
  app.add_option("--schedule", rate.schedule, about)
      ->transform(CLI::CheckedTransformer(schedules).description("NAME"))
      ->default_str("inverse");
  app.add_option("--decay", rate.decay, "of the schedule")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--every", rate.every, "epochs between two falls of --schedule step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void describe_train(CLI::App& app, OptArguments& out) {
  opt::SolverSettings& solver = out.train.solver;
  app.add_option("--data", out.data, "the samples")->required();
  app.add_option("--held", out.held, "samples to try the model on after each epoch");
  app.add_option("--model", out.model, "write the model to FILE");
  app.add_option("--cache", out.cache,
                 "keep the parsed data in PATH.RANK-of-RANKS, and read it from there next time");
  app.add_option("--loss", solver.loss, "logistic (regression) or hinge (SVM)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, opt::Loss>{
                                              {"logistic", opt::Loss::logistic},
                                              {"hinge", opt::Loss::hinge}})
                      .description("NAME"))
      ->default_str("logistic");
  app.add_option("--solver", solver.kind, "sgd (gradient descent) or scd (coordinate descent)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, opt::SolverKind>{
                                              {"sgd", opt::SolverKind::sgd},
                                              {"scd", opt::SolverKind::scd}})
                      .description("NAME"))
      ->default_str("sgd");
  std::string exchanges = "auto: the one with fewer bytes";
  for (const opt::ExchangeRow& row : opt::exchange_rows()) {
    exchanges += cat("; ", row.name, ": ", row.about);
  }
  app.add_option("--exchange", solver.exchange, exchanges)
      ->check(CLI::IsMember(opt::exchange_names()).description("NAME"))
      ->capture_default_str();
  app.add_flag("--async", solver.async, "exchange a step while the next one computes");
  app.add_flag("--intercept", out.train.intercept, "a constant term besides the features");
  app.add_option("--epochs", out.train.epochs, "passes over the data")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--l2", solver.l2, "weight of the square of the weights")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--batch", solver.batch, "sgd: rows of a rank in a step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--coordinates", solver.coordinates, "scd: columns of a rank in a step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", solver.seed, "of the order of rows or columns")->capture_default_str();
  describe_rate(app, solver.rate);
  describe_files(app, out);
}

void describe_predict(CLI::App& app, OptArguments& out) {
  app.add_option("--model", out.model, "what train wrote")->required();
  app.add_option("--data", out.data, "the samples")->required();
  app.add_option("--out", out.out, "write a label and a decision value for each sample to FILE");
  describe_files(app, out);
}

void describe_generate(CLI::App& app, OptArguments& out, std::string& shape) {
  std::vector<std::string> names;
  std::string about;
  for (const opt::DataShape& each : opt::data_shapes()) {
    names.emplace_back(each.name);
    about += cat(about.empty() ? "" : "; ", each.name, ": ", each.about);
  }
  app.add_option("SHAPE", shape, about)
      ->check(CLI::IsMember(names).description("NAME"))
      ->required();
  app.add_option("--rows", out.generate.rows, "samples")->check(CLI::PositiveNumber)->required();
  app.add_option("--first-row", out.generate.first,
                 "begin with this row, so that two files of a seed have different samples of the "
                 "same kind")
      ->capture_default_str();
  app.add_option("--out", out.generate.path, "where to")->required();
  app.add_option("--seed", out.generate.seed, "other samples of another kind")
      ->capture_default_str();
  out.generate.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  app.add_option("--threads", out.generate.threads, "the result is the same")
      ->check(CLI::Range(1, 1024));
  app.add_flag("-q,--quiet", out.quiet, "no progress bar");
}

}  // namespace

OptArguments parse_opt_arguments(std::vector<std::string> arguments) {
  OptArguments out;
  out.command = cat("unisono opt ", join_text(arguments, " "));
  CLI::App app{"Trains linear models on sparse samples, alone or as the ranks of a job.",
               "unisono opt"};
  app.footer(kOptFooter);
  app.require_subcommand(1);
  auto* train = app.add_subcommand("train", "a logistic regression or an SVM");
  auto* predict = app.add_subcommand("predict", "what a model says of samples");
  auto* generate = app.add_subcommand("generate", "samples like those of known sets");
  for (CLI::App* each : {train, predict, generate}) each->footer(kOptFooter);
  std::string shape;
  describe_train(*train, out);
  describe_predict(*predict, out);
  describe_generate(*generate, out, shape);
  if (const auto over = read_command_line(app, std::move(arguments))) {
    out.exit_code = *over;
    return out;
  }
  if (train->parsed()) return out;
  out.action = predict->parsed() ? OptAction::predict : OptAction::generate;
  out.generate.shape = opt::find_shape(shape);
  return out;
}

}  // namespace unisono::tools
