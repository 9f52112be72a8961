// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/command.hpp"

#include <fstream>
#include <iostream>
#include <utility>

#include "base/data/text.hpp"
#include "exit_codes.hpp"
#include "opt/arguments.hpp"
#include "opt/job/agree.hpp"
#include "opt/model/pipeline.hpp"
#include "opt/report.hpp"
#include "progress_bar.hpp"
#include "unisono/unisono.hpp"

namespace unisono::tools {
namespace {

int opt_failed(const Status& status) {
  std::cerr << "unisono opt: " << status.message() << "\n";
  return status.code() == Code::unavailable ? kMachineLacks : kJobFailed;
}

// To a file, to standard output (-), or nowhere.
Status put_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::cout << text << std::flush;
    return {};
  }
  if (path.empty()) return {};
  std::ofstream file(path);
  file << text;
  if (file.flush()) return {};
  return Status(Code::invalid_argument, cat(path, ": cannot be written"));
}

// Shows how far a file is read.
opt::ReadProgress reading_of(ProgressBar& bar, const std::string& path) {
  return [&bar, path](double done, std::string_view doing) {
    bar.show(done, cat(doing, " ", path));
  };
}

// What all ranks do; rank 0 prints.
class Training {
 public:
  Training(const OptArguments& asked, Engine& engine)
      : asked_(asked), engine_(engine), speaks_(engine.rank() == 0),
        prints_(speaks_ && asked.json != "-"), bar_(speaks_ && !asked.quiet) {}

  Status run() {
    const opt::Stopwatch reading;
    auto data = opt::load(engine_, {.path = asked_.data,
                                    .cache = asked_.cache,
                                    .threads = asked_.train.threads,
                                    .labels = {},
                                    .width = 0,
                                    .progress = reading_of(bar_, asked_.data)});
    bar_.clear();
    if (!data.ok()) return data.status();
    std::optional<opt::Dataset> held;
    if (!asked_.held.empty()) {
      auto read = opt::load(engine_, {.path = asked_.held,
                                      .cache = {},
                                      .threads = asked_.train.threads,
                                      .labels = data->labels,
                                      .width = data->rows.width,
                                      .progress = reading_of(bar_, asked_.held)});
      bar_.clear();
      if (!read.ok()) return read.status();
      held = std::move(*read);
    }
    if (!data->note.empty()) std::cerr << "unisono opt: " << data->note << "; read the text\n";
    double nonzeros[1] = {static_cast<double>(data->rows.nonzeros())};
    if (Status bad = opt::sum_over_ranks(engine_, nonzeros); !bad.ok()) return bad;
    facts_ = {engine_.size(), data->total(), static_cast<std::uint64_t>(nonzeros[0]),
              data->rows.width, reading.seconds()};
    if (prints_) std::cout << training_head(asked_, facts_) << epoch_head() << std::flush;
    auto trained = opt::train(engine_, *data, held ? &*held : nullptr, asked_.train, watch());
    bar_.clear();
    if (!trained.ok()) return trained.status();
    return opt::agree(engine_, speaks_ ? finish(*trained) : Status());
  }

 private:
  opt::TrainWatch watch() {
    opt::TrainWatch watch;
    if (!speaks_) return watch;
    watch.progress = [this](double done) { bar_.show(done, cat("epoch ", epochs_ + 1)); };
    watch.epoch = [this](const opt::EpochReport& report) {
      ++epochs_;
      if (!prints_) return;
      bar_.clear();
      std::cout << epoch_line(epochs_, report) << std::flush;
    };
    return watch;
  }

  Status finish(const opt::Trained& trained) {
    if (!asked_.model.empty()) {
      if (Status bad = opt::write_model(asked_.model, trained.model); !bad.ok()) return bad;
    }
    if (prints_) {
      std::cout << "exchange: " << trained.exchange;
      if (!asked_.model.empty()) std::cout << "; model: " << asked_.model;
      std::cout << "\n" << std::flush;
    }
    return put_text(asked_.json, training_json(asked_, facts_, trained));
  }

  const OptArguments& asked_;
  Engine& engine_;
  const bool speaks_, prints_;
  ProgressBar bar_;
  TrainingFacts facts_;
  int epochs_ = 0;
};

int train_model(const OptArguments& asked) {
  auto engine = Engine::join();
  if (!engine.ok()) return opt_failed(engine.status());
  const Status status = Training(asked, *engine).run();
  if (status.ok()) return kSuccess;
  // All ranks have the same failure, unless a rank was lost.
  if (engine->rank() == 0 || status.code() == Code::peer_lost) return opt_failed(status);
  return status.code() == Code::unavailable ? kMachineLacks : kJobFailed;
}

int predict_labels(const OptArguments& asked) {
  auto model = opt::read_model(asked.model);
  if (!model.ok()) return opt_failed(model.status());
  ProgressBar bar(!asked.quiet);
  auto read = opt::read_part(asked.data, {}, asked.train.threads, reading_of(bar, asked.data));
  bar.clear();
  if (!read.ok()) return opt_failed(read.status());
  const opt::Rows& rows = read->rows;
  Prediction prediction{rows.size(), 0, std::nullopt};
  std::string lines;
  std::uint64_t right = 0, known = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double decision = model->decision(rows.row(i));
    const float label = model->label_for(decision);
    if (label == model->labels.high) ++prediction.positive;
    if (label == rows.labels[i]) ++right;
    if (rows.labels[i] == model->labels.low || rows.labels[i] == model->labels.high) ++known;
    if (!asked.out.empty()) lines += cat(label, " ", decision, "\n");
  }
  if (known == rows.size() && known > 0) {
    prediction.accuracy = static_cast<double>(right) / static_cast<double>(known);
  }
  if (Status bad = put_text(asked.out, lines); !bad.ok()) return opt_failed(bad);
  if (asked.json != "-" && asked.out != "-") std::cout << prediction_text(asked, prediction);
  const Status bad = put_text(asked.json, prediction_json(asked, prediction));
  return bad.ok() ? kSuccess : opt_failed(bad);
}

int generate_rows(const OptArguments& asked) {
  ProgressBar bar(!asked.quiet);
  const auto all = static_cast<double>(asked.generate.rows);
  const Status bad = opt::generate(asked.generate, [&](std::uint64_t done) {
    bar.show(static_cast<double>(done) / all, cat(done, " rows"));
  });
  bar.clear();
  if (!bad.ok()) return opt_failed(bad);
  std::cout << asked.generate.path << ": " << asked.generate.rows << " rows like those of "
            << asked.generate.shape->name << "\n";
  return kSuccess;
}

}  // namespace

int opt_command(std::vector<std::string> arguments) {
  const OptArguments asked = parse_opt_arguments(std::move(arguments));
  if (asked.exit_code >= 0) return asked.exit_code;
  switch (asked.action) {
    case OptAction::train: return train_model(asked);
    case OptAction::predict: return predict_labels(asked);
    case OptAction::generate: return generate_rows(asked);
  }
  return kWrongUsage;
}

}  // namespace unisono::tools
