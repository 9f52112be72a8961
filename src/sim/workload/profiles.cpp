// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The models that come with the simulator. Step times are published ones where there are any, and
// say so where they are estimates; docs/SIMULATOR.md repeats the table with what is assumed.
#include <algorithm>
#include <charconv>

#include "base/data/text.hpp"
#include "sim/workload/layers/models.hpp"
#include "sim/workload/workload.hpp"

namespace unisono::sim {
namespace {

constexpr double kThird = 1.0 / 3;      // backward costs twice the forward pass

// Where the figures come from.
constexpr std::string_view kUsual = "usual; NVIDIA publishes 356 images/s, which is 180 ms";
constexpr std::string_view kNvidia = "published by NVIDIA, examples for PyTorch 21.03, DGX-1";
constexpr std::string_view kNvidiaBert =
    "published by NVIDIA, TensorFlow 19.03, DGX-1; the length of a sequence is assumed";
constexpr std::string_view kTensorFlow = "published by TensorFlow in May 2017, one GPU";
constexpr std::string_view kLambda = "published by Lambda, TensorFlow 1.12";
constexpr std::string_view kTorchK80 = "measured by cnn-benchmarks, Torch, cuDNN 5.1, 16 images";
constexpr std::string_view kTorchK80Four =
    "measured by cnn-benchmarks, Torch, cuDNN 5.1, on 16 images; times four";
constexpr std::string_view kV100Vgg =
    "measured by deep-learning-benchmark, PyTorch 0.3, on 16 images; times four";
constexpr std::string_view kLikeResNet50 =
    "estimate: ResNet-50 here, times their ratio on a Quadro P5000";
constexpr std::string_view kPascalRatio = "estimate: the p100 row, times ResNet-50's v100 / p100";
constexpr std::string_view kDense161 = "estimate: DenseNet-161 measured there, by multiply-adds";
constexpr std::string_view kEightTera = "estimate: multiply-adds at 8 TFLOP/s; BERT-large: 7.6";
constexpr std::string_view kKnl =
    "estimate: multiply-adds at 2 TFLOP/s, published for such a node and HEP-CNN";
constexpr std::string_view kP100Rate =
    "estimate: multiply-adds at 5.4 TFLOP/s, which ResNet-50's p100 row means";
constexpr std::string_view kChosen = "chosen once, with paper 000's caching row as the aim";
constexpr std::string_view kAssumed = "assumed";

constexpr std::string_view k64 = "64 images, fp32", k32 = "32 images, fp32",
                           k16 = "16 images, fp32", k512 = "512 images, fp32";

constexpr StepTime kResNet18[] = {{"v100", k64, 53, kThird, kLikeResNet50},
                                  {"k80", k16, 112.7, 0.336, kTorchK80}};
constexpr StepTime kResNet34[] = {{"v100", k64, 88, kThird, kLikeResNet50},
                                  {"k80", k16, 189, 0.343, kTorchK80}};
constexpr StepTime kResNet50[] = {{"v100", k64, 178, kThird, kUsual},
                                  {"p100", k64, 292, kThird, kTensorFlow},
                                  {"k80", k32, 646, kThird, kTensorFlow}};
constexpr StepTime kResNet101[] = {{"v100", k64, 270, kThird, kLikeResNet50},
                                   {"k80", k16, 685.5, 0.291, kTorchK80}};
constexpr StepTime kResNet152[] = {{"v100", k64, 413, kThird, kLambda},
                                   {"p100", k64, 697, kThird, kTensorFlow},
                                   {"k80", k32, 1600, kThird, kTensorFlow}};
constexpr StepTime kGoogleNet[] = {{"v100", k64, 64, kThird, kLikeResNet50},
                                   {"k80", k64, 627, 0.29, kTorchK80Four}};
constexpr StepTime kInceptionV3[] = {{"v100", k64, 247, kThird, kLambda},
                                     {"p100", k64, 451, kThird, kTensorFlow},
                                     {"k80", k64, 2098, kThird, kTensorFlow}};
constexpr StepTime kAlexNet[] = {{"v100", k64, 13, kThird, kPascalRatio},
                                 {"p100", k512, 171, kThird, kTensorFlow},
                                 {"k80", k512, 780, kThird, kTensorFlow}};
constexpr StepTime kVgg16[] = {{"v100", k64, 334, kThird, kV100Vgg},
                               {"p100", k64, 416, kThird, kTensorFlow},
                               {"k80", k32, 904, kThird, kTensorFlow}};
constexpr StepTime kVgg19[] = {
    {"v100", k64, 384, kThird, "estimate: VGG-16 here, times their ratio on a Quadro P5000"},
    {"k80", k16, 527.7, 0.341, kTorchK80}};
constexpr StepTime kDenseNet121[] = {{"v100", k64, 210, kThird, kDense161}};
constexpr StepTime kEfficientNetB0[] = {{"v100", k64, 98, kThird, kNvidia}};
constexpr StepTime kBert[] = {{"v100", "32 sequences of 128, fp32", 260, kThird, kEightTera}};
constexpr StepTime kBertLarge[] = {
    {"v100", "7 sequences of 512, fp32", 926, kThird, kNvidiaBert}};
constexpr StepTime kGpt2[] = {{"v100", "8 sequences of 1024, fp32", 875, kThird, kEightTera}};
constexpr StepTime kHepCnn[] = {{"knl", "128 images, fp32", 1010, kThird, kKnl},
                                {"p100", "128 images, fp32", 375, kThird, kP100Rate}};
constexpr StepTime kCosmoGan[] = {{"knl", "64 maps, fp32", 1630, kThird, kKnl},
                                  {"p100", "64 maps, fp32", 600, kThird, kP100Rate}};
constexpr StepTime kStemDl[] = {{"v100", "an unpublished batch, fp16", 2400, kThird, kChosen}};
constexpr StepTime kTiny[] = {{"none", "no work at all", 20, kThird, kAssumed}};

struct Profile {
  std::string_view name, about;
  std::span<const StepTime> times;
  void (*build)(Layers&);
};

constexpr Profile kProfiles[] = {
    {"resnet18", "basic blocks", kResNet18, build_resnet18},
    {"resnet34", "basic blocks", kResNet34, build_resnet34},
    {"resnet50", "bottlenecks, stride in the 3 x 3 convolution", kResNet50, build_resnet50},
    {"resnet101", "like resnet50", kResNet101, build_resnet101},
    {"resnet152", "like resnet50", kResNet152, build_resnet152},
    {"googlenet", "as it is used: no auxiliary classifiers", kGoogleNet, build_googlenet},
    {"googlenet-aux", "with both auxiliary classifiers, as paper 003 trained it", kGoogleNet,
     build_googlenet_aux},
    {"inception-v3", "299 x 299, no auxiliary classifier", kInceptionV3, build_inception_v3},
    {"alexnet", "one column", kAlexNet, build_alexnet},
    {"vgg16", "no normalisation", kVgg16, build_vgg16},
    {"vgg19", "no normalisation", kVgg19, build_vgg19},
    {"densenet121", "growth 32", kDenseNet121, build_densenet121},
    {"efficientnet-b0", "squeeze and excitation with biases", kEfficientNetB0,
     build_efficientnet_b0},
    {"bert", "BERT-base with pooler, no other head", kBert, build_bert},
    {"bert-large", "with pooler, no other head", kBertLarge, build_bert_large},
    {"gpt2", "124 M; the output layer is the table of words", kGpt2, build_gpt2},
    {"hep-cnn", "five convolutions and one dense layer (paper 002)", kHepCnn, build_hep_cnn},
    {"cosmogan", "generator and discriminator (paper 002)", kCosmoGan, build_cosmogan},
    {"stemdl", "a dense convolutional net of that size; layout assumed (paper 000)", kStemDl,
     build_stemdl},
    {"tiny", "4 tensors of 1 KB: control alone", kTiny, build_tiny},
};

ModelRow row_of(const Profile& profile) {
  Layers layers;
  profile.build(layers);
  ModelRow row{profile.name, profile.about, profile.times};
  row.parameters = layers.elements();
  for (const Layer& layer : layers.list()) {
    row.tensors += layer.tensors.size();
    row.layers += layer.tensors.empty() ? 0 : 1;
  }
  return row;
}

Result<StepTime> time_on(const Profile& profile, std::string_view device) {
  if (device.empty()) return profile.times.front();
  std::vector<std::string_view> known;
  for (const StepTime& time : profile.times) {
    if (time.device == device) return time;
    known.push_back(time.device);
  }
  return Status(Code::invalid_argument,
                cat("nothing is known of ", profile.name, " on \"", device, "\", but on ",
                    join_text(known), "; or give --compute-ms instead"));
}

// The number that a batch begins with; 0 where there is none.
double samples_in(std::string_view batch) {
  double samples = 0;
  std::from_chars(batch.data(), batch.data() + batch.size(), samples);
  return samples;
}

// Appends the tensors of a layer, the last one first, as backward makes them.
void append_layer(const Layer& layer, Granularity granularity, double ready_us, double forward_us,
                  std::vector<WorkloadTensor>& out) {
  if (granularity == Granularity::tensors || layer.tensors.size() < 2) {
    for (auto t = layer.tensors.rbegin(); t != layer.tensors.rend(); ++t) {
      out.push_back({t->name, 4 * t->elements, ready_us, forward_us});
    }
    return;
  }
  const std::string& first = layer.tensors.front().name;
  WorkloadTensor all{first.substr(0, first.rfind('.')), 0, ready_us, forward_us};
  for (const LayerTensor& tensor : layer.tensors) all.bytes += 4 * tensor.elements;
  out.push_back(std::move(all));
}

}  // namespace

std::span<const ModelRow> model_table() {
  static const std::vector<ModelRow> kRows = [] {
    std::vector<ModelRow> rows;
    for (const Profile& profile : kProfiles) rows.push_back(row_of(profile));
    return rows;
  }();
  return kRows;
}

Result<Workload> make_workload(std::string_view name, const ModelChoice& choice) {
  const auto profile = std::find_if(std::begin(kProfiles), std::end(kProfiles),
                                    [&](const Profile& each) { return each.name == name; });
  if (profile == std::end(kProfiles)) {
    return Status(Code::invalid_argument,
                  cat("no model \"", name, "\"; see unisono simulate --list"));
  }
  auto time = time_on(*profile, choice.device);
  if (!time.ok()) return time.status();
  Layers layers;
  profile->build(layers);
  Workload workload;
  workload.name = name;
  workload.batch = samples_in(time->batch);
  workload.compute_us = 1e3 * (choice.compute_ms > 0 ? choice.compute_ms : time->ms);
  const double share = time->forward_share;
  workload.forward_us = workload.compute_us * share;
  double all = 0;
  for (const Layer& layer : layers.list()) all += layer.work;
  double done = 0;
  for (auto layer = layers.list().rbegin(); layer != layers.list().rend(); ++layer) {
    done += layer->work;
    const double ready = workload.compute_us * (share + (1 - share) * done / all);
    const double needed = std::max(0.0, workload.forward_us * (1 - done / all));
    append_layer(*layer, choice.granularity, ready, needed, workload.tensors);
  }
  return workload;
}

Result<Workload> make_workload(std::string_view model, double compute_ms) {
  ModelChoice choice;
  choice.compute_ms = compute_ms;
  return make_workload(model, choice);
}

}  // namespace unisono::sim
