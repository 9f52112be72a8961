// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sim/workload/workload.hpp"

namespace unisono::sim {
namespace {

using testing::HasSubstr;

struct Published {
  std::string_view name;
  std::int64_t parameters;
  std::size_t tensors;
};

// What the reference implementations of torchvision and transformers count. GoogLeNet is Caffe's,
// whose convolutions have biases; the networks of papers are what their descriptions add up to.
constexpr Published kPublished[] = {
    {"resnet18", 11'689'512, 62},       {"resnet34", 21'797'672, 110},
    {"resnet50", 25'557'032, 161},      {"resnet101", 44'549'160, 314},
    {"resnet152", 60'192'808, 467},     {"googlenet", 6'998'552, 116},
    {"googlenet-aux", 13'378'280, 128}, {"inception-v3", 23'834'568, 284},
    {"alexnet", 61'100'840, 16},        {"vgg16", 138'357'544, 32},
    {"vgg19", 143'667'240, 38},         {"densenet121", 7'978'856, 364},
    {"efficientnet-b0", 5'288'548, 213}, {"bert", 109'482'240, 199},
    {"bert-large", 335'141'888, 391},   {"gpt2", 124'439'808, 148},
    {"hep-cnn", 594'178, 12},           {"cosmogan", 17'260'674, 34},
    {"stemdl", 220'000'000, 282},       {"tiny", 1024, 4}};

TEST(Profiles, EveryModelHasThePublishedParametersAndTensors) {
  EXPECT_EQ(model_table().size(), std::size(kPublished));
  for (const Published& wanted : kPublished) {
    const auto row = std::find_if(model_table().begin(), model_table().end(),
                                  [&](const ModelRow& each) { return each.name == wanted.name; });
    ASSERT_NE(row, model_table().end()) << wanted.name;
    EXPECT_EQ(row->parameters, wanted.parameters) << wanted.name;
    EXPECT_EQ(row->tensors, wanted.tensors) << wanted.name;
    const Workload w = make_workload(wanted.name).value();
    EXPECT_EQ(w.tensors.size(), wanted.tensors) << wanted.name;
    EXPECT_EQ(w.bytes(), 4 * wanted.parameters) << wanted.name;
    EXPECT_EQ(row->bytes(), w.bytes()) << wanted.name;
  }
}

TEST(Profiles, SizesAreThoseThatThePapersGive) {
  const auto megabytes = [](const char* name) {
    return static_cast<double>(make_workload(name).value().bytes()) * 1e-6;
  };
  EXPECT_NEAR(megabytes("stemdl"), 880, 1);           // paper 000
  EXPECT_NEAR(megabytes("resnet50"), 102, 1);
  EXPECT_NEAR(megabytes("efficientnet-b0"), 21, 1);
  EXPECT_NEAR(megabytes("vgg19"), 574, 1);
  EXPECT_NEAR(megabytes("hep-cnn"), 2.3, 0.1);        // paper 002
  EXPECT_NEAR(megabytes("cosmogan") / 4, 17, 0.5);    // 17 million parameters
  EXPECT_NEAR(megabytes("googlenet-aux") / 4, 13, 0.5);  // paper 003
}

TEST(Profiles, AWorkloadPassesTheChecksOfATrace) {
  for (const ModelRow& row : model_table()) {
    for (const Granularity granularity : {Granularity::tensors, Granularity::layers}) {
      Workload w = make_workload(row.name, {0, {}, granularity}).value();
      const double compute_us = w.compute_us;
      const Status checked = finish_workload(w);
      EXPECT_TRUE(checked.ok()) << checked.message();
      EXPECT_NEAR(w.compute_us, compute_us, 1e-3) << row.name;
    }
  }
}

TEST(Profiles, TensorsComeInBackwardOrderAfterTheForwardPass) {
  for (const ModelRow& row : model_table()) {
    const Workload w = make_workload(row.name).value();
    EXPECT_GE(w.tensors.front().ready_us, w.forward_us) << row.name;
    EXPECT_NEAR(w.tensors.back().ready_us, w.compute_us, 1e-3) << row.name;
    for (std::size_t i = 1; i < w.tensors.size(); ++i) {
      EXPECT_GE(w.tensors[i].ready_us, w.tensors[i - 1].ready_us);
    }
    for (const WorkloadTensor& tensor : w.tensors) EXPECT_GT(tensor.bytes, 0) << tensor.name;
  }
  EXPECT_EQ(make_workload("resnet50").value().tensors.front().name, "fc.bias");
  EXPECT_THAT(make_workload("resnet5").status().message(), HasSubstr("no model"));
}

TEST(Profiles, ForwardNeedsTensorsInTheOppositeOrderFromTheBeginningOfTheStep) {
  for (const ModelRow& row : model_table()) {
    const Workload w = make_workload(row.name).value();
    EXPECT_NEAR(w.tensors.back().forward_us, 0, 1e-3) << row.name;
    EXPECT_LT(w.tensors.front().forward_us, w.forward_us) << row.name;
    for (std::size_t i = 1; i < w.tensors.size(); ++i) {
      EXPECT_LE(w.tensors[i].forward_us, w.tensors[i - 1].forward_us) << row.name;
    }
  }
}

// Each layer's share of the forward pass is its share of the backward pass, and all of them
// together are the compute of the step.
TEST(Profiles, ForwardAndBackwardTimesOfTheLayersSumToTheComputeTime) {
  for (const ModelRow& row : model_table()) {
    for (const StepTime& time : row.times) {
      const Workload w = make_workload(row.name, {0, time.device, Granularity::layers}).value();
      EXPECT_NEAR(w.compute_us, 1e3 * time.ms, 1e-6) << row.name << ", " << time.device;
      EXPECT_NEAR(w.forward_us / w.compute_us, time.forward_share, 1e-9);
      const double backward_us = w.compute_us - w.forward_us;
      double forward = 0, backward = 0, forward_end = w.forward_us, backward_end = w.forward_us;
      for (const WorkloadTensor& layer : w.tensors) {
        const double f = forward_end - layer.forward_us, b = layer.ready_us - backward_end;
        EXPECT_NEAR(f / w.forward_us, b / backward_us, 1e-9) << row.name << ", " << layer.name;
        forward += f;
        backward += b;
        forward_end = layer.forward_us;
        backward_end = layer.ready_us;
      }
      EXPECT_NEAR(forward + backward, w.compute_us, 1e-3) << row.name << ", " << time.device;
    }
  }
}

TEST(Profiles, EveryDeviceHasATimeABatchAndASource) {
  for (const ModelRow& row : model_table()) {
    EXPECT_FALSE(row.about.empty()) << row.name;
    ASSERT_FALSE(row.times.empty()) << row.name;
    std::map<std::string_view, int> devices;
    for (const StepTime& time : row.times) {
      EXPECT_EQ(++devices[time.device], 1) << row.name;
      EXPECT_GT(time.ms, 0) << row.name;
      EXPECT_GT(time.forward_share, 0.2) << row.name;
      EXPECT_LT(time.forward_share, 0.4) << row.name;
      EXPECT_FALSE(time.batch.empty() || time.source.empty()) << row.name;
    }
  }
}

TEST(Profiles, ADeviceIsChosenByNameAndAComputeTimeReplacesIt) {
  const auto compute_ms = [](double asked_ms, std::string_view device) {
    return make_workload("resnet50", {asked_ms, device, Granularity::tensors}).value().compute_us /
           1e3;
  };
  EXPECT_EQ(compute_ms(0, ""), 178);
  EXPECT_EQ(compute_ms(0, "k80"), 646);
  EXPECT_EQ(compute_ms(40, "k80"), 40);
  const auto unknown = make_workload("resnet50", {0, "abacus", Granularity::tensors});
  EXPECT_THAT(unknown.status().message(),
              HasSubstr("nothing is known of resnet50 on \"abacus\", but on v100, p100, k80"));
}

TEST(Profiles, LayersAreTheTensorsOfALayerTogether) {
  const Workload tensors = make_workload("resnet50").value();
  const Workload layers = make_workload("resnet50", {0, {}, Granularity::layers}).value();
  EXPECT_EQ(layers.tensors.size(), 107U);  // 53 convolutions, 53 normalisations, one dense layer
  EXPECT_EQ(layers.bytes(), tensors.bytes());
  EXPECT_EQ(layers.tensors.front().name, "fc");
  EXPECT_EQ(layers.tensors.front().bytes, 4 * (2048 * 1000 + 1000));
  EXPECT_EQ(layers.tensors.front().ready_us, tensors.tensors.front().ready_us);
  EXPECT_EQ(make_workload("googlenet-aux", {0, {}, Granularity::layers}).value().tensors.size(),
            64U);
}

TEST(Profiles, TheSameChoiceGivesTheSameWorkload) {
  for (const ModelRow& row : model_table()) {
    const Workload first = make_workload(row.name).value();
    const Workload second = make_workload(row.name).value();
    ASSERT_EQ(first.tensors.size(), second.tensors.size());
    for (std::size_t i = 0; i < first.tensors.size(); ++i) {
      EXPECT_EQ(first.tensors[i].name, second.tensors[i].name);
      EXPECT_EQ(first.tensors[i].bytes, second.tensors[i].bytes);
      EXPECT_EQ(first.tensors[i].ready_us, second.tensors[i].ready_us);
      EXPECT_EQ(first.tensors[i].forward_us, second.tensors[i].forward_us);
    }
  }
}

// The output layer of GPT-2 is its table of words: that gradient is complete at the very end.
TEST(Profiles, ASharedTableIsReadyLast) {
  const Workload w = make_workload("gpt2").value();
  EXPECT_EQ(w.tensors.back().name, "wte");
  EXPECT_EQ(w.tensors.back().forward_us, 0);
  EXPECT_GT(w.tensors.front().ready_us, w.forward_us + 0.2 * (w.compute_us - w.forward_us));
}

}  // namespace
}  // namespace unisono::sim
