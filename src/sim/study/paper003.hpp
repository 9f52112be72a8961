// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Merging gradients (MG-WFBP): ResNet-50 and GoogleNet on K80 nodes joined by 10 Gbit/s Ethernet,
// by the closed form of a ring and the timeline of the planners of an iteration. Pure; thread: any.
#pragma once

#include "plan/iteration/iteration.hpp"
#include "sim/study/study.hpp"
#include "sim/workload/layers/models.hpp"

namespace unisono::sim {

// One set of figures for all rows; docs/SIMULATOR.md has their sources.
struct K80Cluster {
  double latency_s = 45.26e-6;          // of a message
  double per_byte_s = 0.8e-9;
  double reduce_per_byte_s = 0.1e-9 * 8 / 7;
  double resnet50_images_per_s = 49.5;  // of one GPU, 32 images at a time
  double forward_share = 1.0 / 3;       // of compute
};

// What is sent as one where nothing is merged.
enum class SentAsOne { weights, layers, tensors };

struct K80Iteration {
  std::vector<plan::IterationTensor> tensors;  // in backward order
  double compute_s = 0;                 // forward and backward
};
// The 161 tensors of ResNet-50, its 107 layers with parameters (a convolution and the scaling
// behind it are two), or its 54 layers with weights; 32 images.
K80Iteration k80_resnet50(const K80Cluster& cluster, SentAsOne sent);
// The 64 layers of GoogleNet with both auxiliary classifiers, 13.4 M parameters; 64 images.
K80Iteration k80_googlenet(const K80Cluster& cluster);

// Seconds of an iteration over so many nodes, arranged by a planner of plan::iteration_table(), or
// "naive": compute, then every tensor by itself.
double k80_seconds(const K80Cluster& cluster, const K80Iteration& iteration, int nodes,
                   std::string_view planner);

// The same cluster with GPUs just so fast that merged over single is that for ResNet-50 at 64
// nodes: what nobody published is fitted on one row, and the others are predicted.
K80Cluster fitted_to_single(K80Cluster cluster, double merged_over_single);

Study run_paper003(const K80Cluster& cluster = {});

}  // namespace unisono::sim
