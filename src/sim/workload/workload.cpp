// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/workload.hpp"

#include <algorithm>

#include "base/data/text.hpp"
#include "sim/workload/layers/models.hpp"

namespace unisono::sim {
namespace {

constexpr double kForwardShare = 1.0 / 3;  // backward costs twice the forward pass

struct Model {
  ModelRow row;
  double compute_ms;                    // of one step on one V100
  void (*build)(Layers&);
};

constexpr Model kModels[] = {
    {{"resnet50", "161 tensors, 25.6 M parameters; 64 images in fp32"}, 178, build_resnet50},
    {{"googlenet", "116 tensors, 7.0 M parameters; 64 images in fp32"}, 95, build_googlenet},
    {{"alexnet", "16 tensors, 61 M parameters; 64 images in fp32"}, 30, build_alexnet},
    {{"vgg16", "32 tensors, 138 M parameters; 64 images in fp32"}, 430, build_vgg16},
    {{"bert", "199 tensors, 110 M parameters; 32 sequences of 128"}, 260, build_bert},
    {{"stemdl", "a dense convolutional net of 220 M parameters, 880 MB"}, 2400, build_stemdl},
    {{"tiny", "4 tensors of 1 KB: control alone"}, 20, build_tiny},
};
constexpr std::size_t kCount = std::size(kModels);

}  // namespace

std::int64_t Workload::bytes() const {
  std::int64_t sum = 0;
  for (const WorkloadTensor& tensor : tensors) sum += tensor.bytes;
  return sum;
}

std::span<const ModelRow> model_table() {
  static const std::vector<ModelRow> kRows = [] {
    std::vector<ModelRow> rows;
    for (std::size_t i = 0; i < kCount; ++i) rows.push_back(kModels[i].row);
    return rows;
  }();
  return kRows;
}

Result<Workload> make_workload(std::string_view name, double compute_ms) {
  const auto model = std::find_if(std::begin(kModels), std::end(kModels),
                                  [&](const Model& m) { return m.row.name == name; });
  if (model == std::end(kModels)) {
    return Status(Code::invalid_argument,
                  cat("no model \"", name, "\"; see unisono simulate --list"));
  }
  Layers layers;
  model->build(layers);
  Workload workload;
  workload.name = name;
  workload.compute_us = 1e3 * (compute_ms > 0 ? compute_ms : model->compute_ms);
  double all = 0;
  for (const Layer& layer : layers.list()) all += layer.work;
  double done = 0;
  for (auto layer = layers.list().rbegin(); layer != layers.list().rend(); ++layer) {
    done += layer->work;
    const double ready =
        workload.compute_us * (kForwardShare + (1 - kForwardShare) * done / all);
    for (auto t = layer->tensors.rbegin(); t != layer->tensors.rend(); ++t) {
      workload.tensors.push_back({t->name, 4 * t->elements, ready});
    }
  }
  return workload;
}

void hand_over_at_end(Workload& workload) {
  for (WorkloadTensor& tensor : workload.tensors) tensor.ready_us = workload.compute_us;
}

Status finish_workload(Workload& workload) {
  const auto wrong = [&](std::string why) {
    return Status(Code::invalid_argument, cat("the trace ", workload.name, ": ", why));
  };
  if (workload.tensors.empty()) return wrong("it lists no tensors");
  std::stable_sort(workload.tensors.begin(), workload.tensors.end(),
                   [](const auto& a, const auto& b) { return a.ready_us < b.ready_us; });
  std::vector<std::string_view> names;
  for (const WorkloadTensor& tensor : workload.tensors) {
    if (tensor.bytes <= 0 || tensor.ready_us < 0) {
      return wrong(cat("tensor ", tensor.name, " needs bytes above 0 and ready_us of 0 or more"));
    }
    names.push_back(tensor.name);
  }
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
    return wrong(cat("tensor ", *twice, " is listed twice"));
  }
  workload.compute_us = std::max(workload.compute_us, workload.tensors.back().ready_us);
  if (workload.compute_us <= 0) return wrong("nothing takes any time; give ready_us");
  return {};
}

}  // namespace unisono::sim
