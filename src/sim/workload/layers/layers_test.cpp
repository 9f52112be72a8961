// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/layers/layers.hpp"

#include <gtest/gtest.h>

#include "sim/workload/layers/models.hpp"

namespace unisono::sim {
namespace {

Layers built(void (*build)(Layers&)) {
  Layers net;
  build(net);
  return net;
}

// Without normalisations, which are not counted usually: their two tensors have the same size.
double giga_multiply_adds(const Layers& net) {
  double sum = 0;
  for (const Layer& layer : net.list()) {
    const bool normalises = layer.tensors.size() == 2 &&
                            layer.tensors[0].elements == layer.tensors[1].elements;
    if (!normalises) sum += layer.work;
  }
  return sum * 1e-9;
}

TEST(Layers, MultiplyAddsOfAnImageAreThosePublished) {
  struct Case {
    void (*build)(Layers&);
    double published;                   // by torchvision, rounded as there
  };
  constexpr Case kCases[] = {
      {build_resnet18, 1.814},     {build_resnet34, 3.664},  {build_resnet50, 4.089},
      {build_resnet101, 7.801},    {build_resnet152, 11.514}, {build_alexnet, 0.714},
      {build_vgg16, 15.470},       {build_vgg19, 19.632},    {build_densenet121, 2.834},
      {build_efficientnet_b0, 0.386}, {build_inception_v3, 5.713}};
  for (const Case& each : kCases) {
    EXPECT_NEAR(giga_multiply_adds(built(each.build)), each.published, 0.001);
  }
}

TEST(Layers, AGroupOfAConvolutionSeesItsShareOfTheChannels) {
  Layers net;
  net.convolution("whole", 32, 64, 3, 10, false);
  net.convolution("grouped", 32, 64, 3, 10, false, 4);
  net.convolution("depthwise", 32, 32, 3, 10, true, 32);
  EXPECT_EQ(net.list()[0].tensors[0].elements, 32 * 64 * 9);
  EXPECT_EQ(net.list()[1].tensors[0].elements, 32 * 64 * 9 / 4);
  EXPECT_EQ(net.list()[2].tensors[0].elements, 32 * 9);
  EXPECT_EQ(net.list()[2].tensors[1].elements, 32);
  EXPECT_EQ(net.list()[0].work, 4 * net.list()[1].work);
}

TEST(Layers, AKernelNeedNotBeSquare) {
  Layers net;
  net.convolution("row", 8, 8, Kernel(1, 7), 10, false);
  EXPECT_EQ(net.list()[0].tensors[0].elements, 8 * 8 * 7);
  EXPECT_EQ(net.elements(), 8 * 8 * 7);
}

TEST(Layers, WorkMayBeScaledFromALayerOn) {
  Layers net;
  net.table("a", 4, 10);
  net.work(20);
  net.scale_work(1, 0.5);
  EXPECT_EQ(net.list()[0].work, 10);
  EXPECT_EQ(net.list()[1].work, 10);
  EXPECT_TRUE(net.list()[1].tensors.empty());
}

}  // namespace
}  // namespace unisono::sim
