// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The extension unisono._opt: training of linear models on rows that Python holds. It is beside
// _core, because src/opt is a user of the library and no part of it; it takes the engines of _core.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "member.hpp"
#include "opt/data/share.hpp"
#include "opt/job/agree.hpp"
#include "opt/model/train.hpp"

namespace unisono::python {
namespace {

template <typename T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The class of unisono.errors that fits.
[[noreturn]] void raise(const Status& status) {
  const Culprit& who = status.culprit();
  const std::string_view code = code_name(status.code());
  const nb::object error =
      nb::module_::import_("unisono.errors")
          .attr("from_status")(nb::str(code.data(), code.size()), status.message(), who.rank,
                               who.host, who.pid, who.tensor, status.retryable());
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

// What rows must be before anything is trained on them.
Status check(const opt::Rows& rows) {
  const auto wrong = [](const char* reason) {
    return Status(Code::invalid_argument, std::string("X: ") + reason);
  };
  if (rows.begins.size() != rows.labels.size() + 1) return wrong("as many rows as labels are needed");
  if (rows.begins.front() != 0 || rows.begins.back() != rows.columns.size() ||
      rows.columns.size() != rows.values.size() ||
      !std::is_sorted(rows.begins.begin(), rows.begins.end())) {
    return wrong("indptr, indices and data do not fit together");
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const opt::Entry row = rows.row(i);
    for (std::size_t k = 0; k < row.columns.size(); ++k) {
      if (row.columns[k] >= rows.width) return wrong("an index is beyond the features");
      if (k > 0 && row.columns[k - 1] >= row.columns[k]) {
        return wrong("the indices of a row must ascend (sort_indices, sum_duplicates)");
      }
      if (!std::isfinite(row.values[k])) return wrong("a value is not finite");
    }
  }
  return {};
}

opt::Rows rows_of(const Column<std::uint64_t>& begins, const Column<std::uint32_t>& columns,
                  const Column<float>& values, const Column<float>& labels, std::uint32_t width) {
  opt::Rows rows;
  rows.begins.assign(begins.data(), begins.data() + begins.size());
  rows.columns.assign(columns.data(), columns.data() + columns.size());
  rows.values.assign(values.data(), values.data() + values.size());
  rows.labels.assign(labels.data(), labels.data() + labels.size());
  rows.width = width;
  return rows;
}

Result<opt::Trained> train_on(Engine& engine, opt::Rows rows, opt::TrainSettings settings,
                              double c) {
  // A rank whose rows are bad tells the others, which would wait for it otherwise.
  if (Status bad = opt::agree(engine, check(rows)); !bad.ok()) return bad;
  auto data = opt::share(engine, std::move(rows));
  if (!data.ok()) return data.status();
  settings.solver.l2 = 1 / (c * static_cast<double>(data->total()));
  return opt::train(engine, *data, nullptr, settings, {});
}

nb::dict train(Member& member, const Column<std::uint64_t>& begins,
               const Column<std::uint32_t>& columns, const Column<float>& values,
               const Column<float>& labels, std::uint32_t width, const std::string& loss,
               const std::string& solver, const std::string& exchange, bool async_, double c,
               int epochs, std::uint32_t batch, double rate, int threads, std::uint64_t seed,
               bool intercept) {
  opt::TrainSettings settings;
  settings.solver.loss = loss == "hinge" ? opt::Loss::hinge : opt::Loss::logistic;
  settings.solver.kind = solver == "scd" ? opt::SolverKind::scd : opt::SolverKind::sgd;
  settings.solver.exchange = exchange;
  settings.solver.async = async_;
  settings.solver.batch = batch;
  settings.solver.rate.rate = rate;
  settings.solver.seed = seed;
  settings.epochs = epochs;
  settings.threads = threads;
  settings.intercept = intercept;
  opt::Rows rows = rows_of(begins, columns, values, labels, width);
  std::optional<Result<opt::Trained>> trained;
  {
    const nb::gil_scoped_release unlocked;
    trained = train_on(member.engine(), std::move(rows), settings, c);
  }
  if (!trained->ok()) raise(trained->status());
  opt::Trained& result = trained->value();
  auto* weights = new std::vector<float>(std::move(result.model.weights));
  const nb::capsule owner(weights, [](void* held) noexcept {
    delete static_cast<std::vector<float>*>(held);
  });
  nb::dict out;
  out["weights"] = nb::ndarray<nb::numpy, float, nb::ndim<1>>(weights->data(), {weights->size()},
                                                              owner);
  out["exchange"] = result.exchange;
  nb::list reports;
  for (const opt::EpochReport& each : result.epochs) {
    nb::dict row;
    row["loss"] = each.loss;
    row["accuracy"] = each.accuracy;
    row["compute_s"] = each.compute_s;
    row["communication_s"] = each.communication_s;
    row["bytes"] = each.bytes;
    reports.append(row);
  }
  out["epochs"] = reports;
  return out;
}

}  // namespace
}  // namespace unisono::python

NB_MODULE(_opt, module) {
  using namespace unisono::python;
  module.doc() = "Training of linear models; use unisono.opt.";
  nb::module_::import_("unisono._core");    // whose engines are taken
  module.def("train", &train, nb::arg("engine"), nb::arg("begins"), nb::arg("columns"),
             nb::arg("values"), nb::arg("labels"), nb::kw_only(), nb::arg("width"),
             nb::arg("loss"), nb::arg("solver"), nb::arg("exchange"), nb::arg("async_"),
             nb::arg("c"), nb::arg("epochs"), nb::arg("batch"), nb::arg("rate"),
             nb::arg("threads"), nb::arg("seed"), nb::arg("intercept"));
}
