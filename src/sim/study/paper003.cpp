// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/study/paper003.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "base/data/text.hpp"
#include "cost/closed_forms.hpp"
#include "sim/study/bench.hpp"

namespace unisono::sim {
namespace {

constexpr double kResnetImages = 32, kGooglenetImages = 64;

double multiply_adds(const std::vector<Layer>& layers) {
  double all = 0;
  for (const Layer& layer : layers) all += layer.work;
  return all;
}

std::vector<Layer> resnet50_layers() {
  Layers net;
  build_resnet50(net);
  return net.list();
}

// The published 13 million parameters are those of the network with the two classifiers that it is
// trained with.
std::vector<Layer> googlenet_layers() {
  Layers net;
  build_googlenet_aux(net);
  return net.list();
}

bool is_normalisation(const Layer& layer) {
  return layer.tensors.size() == 2 && layer.tensors[0].elements == layer.tensors[1].elements;
}

K80Iteration iteration_of(const std::vector<Layer>& layers, double compute_s, double forward_share,
                          SentAsOne sent) {
  K80Iteration made;
  made.compute_s = compute_s;
  const double all = multiply_adds(layers), forward = compute_s * forward_share;
  double done = 0;
  std::int64_t waiting = 0;             // of normalisations that go with the weights before them
  double waiting_forward = 0;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    done += layer->work;
    if (layer->tensors.empty()) continue;
    const double ready = forward + (compute_s - forward) * done / all;
    const double share = forward * layer->work / all;
    std::int64_t bytes = 0;
    for (const LayerTensor& tensor : layer->tensors) bytes += 4 * tensor.elements;
    if (sent == SentAsOne::weights && is_normalisation(*layer)) {
      waiting += bytes, waiting_forward += share;
    } else if (sent == SentAsOne::tensors) {
      const auto parts = static_cast<double>(layer->tensors.size());
      for (auto t = layer->tensors.rbegin(); t != layer->tensors.rend(); ++t) {
        made.tensors.push_back({ready, 4 * t->elements, share / parts});
      }
    } else {
      made.tensors.push_back({ready, bytes + waiting, share + waiting_forward});
      waiting = 0, waiting_forward = 0;
    }
  }
  return made;
}

struct Published {
  const char* model;
  int nodes;
  double over_wfbp, over_single;
  const char* note;
};
constexpr const char* kMeasured = "published as about, for both models together; measured";
constexpr Published kPublished[] = {{"ResNet-50", 64, 1.75, 1.45, ""},
                                    {"GoogleNet", 64, 1.78, 1.35, ""},
                                    {"ResNet-50", 8, 1.2, 1.36, kMeasured},
                                    {"GoogleNet", 8, 1.2, 1.36, kMeasured}};

K80Iteration iteration_named(std::string_view model, const K80Cluster& cluster) {
  return model == "GoogleNet" ? k80_googlenet(cluster)
                              : k80_resnet50(cluster, SentAsOne::layers);
}

void unpublished(Study& study, std::string figure, double value) {
  study.rows.push_back({std::move(figure), "x", 0, 0, value, "", false});
}

// The rows of one model at one number of nodes, and a run for each planner.
void compare(const Published& there, const K80Cluster& cluster, Study& study) {
  const K80Iteration iteration = iteration_named(there.model, cluster);
  const auto seconds = [&](const char* planner) {
    const double s = k80_seconds(cluster, iteration, there.nodes, planner);
    StudyRun run{there.model, there.nodes, "-", "-", planner, {}};
    run.result.steps = 1;
    run.result.step_ms = 1e3 * s;
    run.result.exposed_ms = 1e3 * (s - iteration.compute_s);
    run.result.efficiency = iteration.compute_s / s;
    study.runs.push_back(std::move(run));
    return s;
  };
  const std::string at = cat(there.model, " at ", there.nodes, ": merged over ");
  const double merged = seconds("merged");
  study.rows.push_back({at + "wfbp", "x", there.over_wfbp, there.over_wfbp,
                        seconds("wfbp") / merged, there.note});
  study.rows.push_back({at + "single", "x", there.over_single, there.over_single,
                        seconds("single") / merged, there.note});
  unpublished(study, at + "merged-greedy", seconds("merged-greedy") / merged);
  unpublished(study, at + "naive", seconds("naive") / merged);
}

double over(const K80Cluster& cluster, const K80Iteration& iteration, std::string_view planner,
            int nodes = 64) {
  return k80_seconds(cluster, iteration, nodes, planner) /
         k80_seconds(cluster, iteration, nodes, "merged");
}

// Nobody published what a layer is: the same figure for the other ways to read it.
void other_granularities(const K80Cluster& cluster, const std::string& prefix, Study& study) {
  struct Choice {
    SentAsOne sent;
    const char* name;
  };
  for (const Choice& choice : {Choice{SentAsOne::weights, "54 weight layers"},
                               Choice{SentAsOne::tensors, "161 tensors"}}) {
    const K80Iteration other = k80_resnet50(cluster, choice.sent);
    study.rows.push_back({cat(prefix, "ResNet-50 at 64, ", choice.name, ": merged over wfbp"), "x",
                          kPublished[0].over_wfbp, kPublished[0].over_wfbp,
                          over(cluster, other, "wfbp"), ""});
  }
}

// The start-up of an allreduce, from what was measured on two nodes; and what the paper's introduction
// says of two sizes on eight.
void predicted_allreduces(const K80Cluster& cluster, Study& study) {
  struct Measured {
    int nodes;
    std::int64_t bytes;
    double ms;
    bool fitted;
  };
  constexpr Measured kMeasured003[] = {{2, 0, 0.09052, true},
                                       {4, 0, 0.27156, false},
                                       {8, 0, 0.63364, false},
                                       {8, 200'000, 1.5, false},
                                       {8, 400'000, 1.8, false}};
  for (const Measured& each : kMeasured003) {
    const cost::ClosedForm ring = cost::closed_form(
        "ring", each.nodes, {cluster.latency_s, cluster.per_byte_s, cluster.reduce_per_byte_s});
    const double ms = 1e3 * (ring.latency_s + ring.per_byte_s * static_cast<double>(each.bytes));
    study.rows.push_back({cat("allreduce of ", each.bytes / 1000, " KB on ", each.nodes, " nodes"),
                          "ms", each.ms, each.ms, ms, "", true, each.fitted});
  }
}

// How far the answers at 64 nodes move with what had to be assumed.
void sensitivity(const K80Cluster& cluster, Study& study) {
  const auto vary = [&](const std::string& what, const K80Cluster& varied) {
    const K80Iteration each = k80_resnet50(varied, SentAsOne::layers);
    for (const char* planner : {"wfbp", "single"}) {
      unpublished(study, cat("ResNet-50 at 64, ", what, ": merged over ", planner),
                  over(varied, each, planner));
    }
  };
  K80Cluster varied = cluster;
  varied.resnet50_images_per_s = 2 * cluster.resnet50_images_per_s;
  vary("compute halved", varied);
  varied.resnet50_images_per_s = cluster.resnet50_images_per_s / 2;
  vary("compute doubled", varied);
  varied = cluster;
  varied.per_byte_s = 2 * cluster.per_byte_s;
  vary("time per byte doubled", varied);
  varied.per_byte_s = cluster.per_byte_s / 2;
  vary("time per byte halved", varied);
}

// One row gives the speed of compute, which nobody published; the others are predicted from it.
void predict_from_one_row(const K80Cluster& cluster, Study& study) {
  const K80Cluster fitted = fitted_to_single(cluster, kPublished[0].over_single);
  for (const Published& there : kPublished) {
    const K80Iteration iteration = iteration_named(there.model, fitted);
    const std::string note = cat(there.note, *there.note == '\0' ? "" : "; ", "compute ",
                                 static_cast<int>(1e3 * iteration.compute_s + 0.5), " ms");
    const std::string at = cat("fitted, ", there.model, " at ", there.nodes, ": merged over ");
    study.rows.push_back({at + "wfbp", "x", there.over_wfbp, there.over_wfbp,
                          over(fitted, iteration, "wfbp", there.nodes), note});
    if (&there == kPublished) continue;  // the row that it was fitted to
    study.rows.push_back({at + "single", "x", there.over_single, there.over_single,
                          over(fitted, iteration, "single", there.nodes), note});
  }
  other_granularities(fitted, "fitted, ", study);
}

}  // namespace

K80Cluster fitted_to_single(K80Cluster cluster, double merged_over_single) {
  const auto reached = [&](double images_per_s) {
    cluster.resnet50_images_per_s = images_per_s;
    const K80Iteration iteration = k80_resnet50(cluster, SentAsOne::layers);
    return over(cluster, iteration, "single") >= merged_over_single;
  };
  // The ratio falls again where compute is so short that nothing can be hidden: from the slow side.
  double slow = 1, fast = 1;
  for (; fast < 1e4 && !reached(fast); fast *= 1.05) slow = fast;
  for (int i = 0; i < 50; ++i) {
    const double middle = (slow + fast) / 2;
    (reached(middle) ? fast : slow) = middle;
  }
  cluster.resnet50_images_per_s = fast;
  return cluster;
}

K80Iteration k80_resnet50(const K80Cluster& cluster, SentAsOne sent) {
  return iteration_of(resnet50_layers(), kResnetImages / cluster.resnet50_images_per_s,
                      cluster.forward_share, sent);
}

K80Iteration k80_googlenet(const K80Cluster& cluster) {
  // At as many multiply-adds per second as ResNet-50.
  const std::vector<Layer> layers = googlenet_layers();
  const double compute = kGooglenetImages * multiply_adds(layers) /
                         (cluster.resnet50_images_per_s * multiply_adds(resnet50_layers()));
  return iteration_of(layers, compute, cluster.forward_share, SentAsOne::layers);
}

double k80_seconds(const K80Cluster& cluster, const K80Iteration& iteration, int nodes,
                   std::string_view planner) {
  const cost::ClosedForm ring = cost::closed_form(
      "ring", nodes, {cluster.latency_s, cluster.per_byte_s, cluster.reduce_per_byte_s});
  const plan::LineCost transfer({ring.latency_s, ring.per_byte_s});
  if (planner == "naive") {
    double all = iteration.compute_s;
    for (const plan::IterationTensor& tensor : iteration.tensors) {
      all += transfer.seconds(tensor.bytes);
    }
    return all;
  }
  const plan::Method methods[] = {{"none", &transfer}};
  const auto made = plan::make_iteration_planner(planner);
  UNISONO_CHECK(made != nullptr);
  return made->arrange({iteration.tensors, methods}).finish_s;
}

Study run_paper003(const K80Cluster& cluster) {
  Study study;
  for (const Published& there : kPublished) compare(there, cluster, study);
  const K80Iteration iteration = k80_resnet50(cluster, SentAsOne::layers);
  for (const char* planner : {"wfbp", "single"}) {
    study.rows.push_back({cat("ResNet-50 at 64: efficiency, ", planner), "", 0.55, 0.55,
                          iteration.compute_s / k80_seconds(cluster, iteration, 64, planner),
                          "published as around 55 %"});
  }
  other_granularities(cluster, "", study);
  predict_from_one_row(cluster, study);
  predicted_allreduces(cluster, study);
  sensitivity(cluster, study);
  return study;
}

void study_paper003(StudyBench& bench) {
  K80Cluster cluster;
  const Parameter* varied = bench.options().varied;
  if (varied != nullptr && varied->scale_k80 != nullptr) {
    varied->scale_k80(cluster, bench.options().factor);
  }
  bench.study = run_paper003(cluster);
}

}  // namespace unisono::sim
