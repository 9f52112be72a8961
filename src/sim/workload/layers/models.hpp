// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One function for each network: appends its layers in forward order. Pure.
#pragma once

#include "sim/workload/layers/layers.hpp"

namespace unisono::sim {

void build_resnet18(Layers& net);
void build_resnet34(Layers& net);
void build_resnet50(Layers& net);
void build_resnet101(Layers& net);
void build_resnet152(Layers& net);

void build_googlenet(Layers& net);
void build_googlenet_aux(Layers& net);  // with the two classifiers that training adds
void build_inception_v3(Layers& net);

void build_alexnet(Layers& net);
void build_vgg16(Layers& net);
void build_vgg19(Layers& net);

void build_densenet121(Layers& net);
void build_efficientnet_b0(Layers& net);

void build_bert(Layers& net);
void build_bert_large(Layers& net);
void build_gpt2(Layers& net);

void build_hep_cnn(Layers& net);
void build_cosmogan(Layers& net);
void build_stemdl(Layers& net);

void build_tiny(Layers& net);

}  // namespace unisono::sim
