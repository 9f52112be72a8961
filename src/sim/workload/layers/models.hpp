// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One function for each network: appends its layers in forward order. Pure.
#pragma once

#include "sim/workload/layers/layers.hpp"

namespace unisono::sim {

void build_resnet50(Layers& net);
void build_googlenet(Layers& net);
void build_alexnet(Layers& net);
void build_vgg16(Layers& net);
void build_bert(Layers& net);
void build_stemdl(Layers& net);
void build_tiny(Layers& net);

}  // namespace unisono::sim
