// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/study/parameters.hpp"

#include <algorithm>
#include <cmath>

#include "sim/simulation.hpp"
#include "sim/study/paper003.hpp"

namespace unisono::sim {
namespace {

void scale_compute(SimSettings& s, double x) {
  for (WorkloadTensor& tensor : s.workload.tensors) tensor.ready_us *= x, tensor.forward_us *= x;
  s.workload.compute_us *= x;
  s.workload.forward_us *= x;
  s.host.slack_us *= x;
}

const Parameter kOfSteps[] = {
    {"compute of a step", "the model's row", scale_compute},
    {"latency of a message (L)", "usual for the network",
     [](SimSettings& s, double x) { s.network.latency_us *= x; }},
    {"overhead of a message (o)", "usual for the network",
     [](SimSettings& s, double x) { s.network.overhead_us *= x; }},
    {"gap between messages (g)", "assumed: a third of o",
     [](SimSettings& s, double x) { s.network.gap_us *= x; }},
    {"bandwidth of an adapter", "what the name says; summit: paper 000",
     [](SimSettings& s, double x) { s.network.gb_per_s *= x; }},
    {"bandwidth of memory", "10 GB/s assumed; summit: paper 000",
     [](SimSettings& s, double x) { s.network.local_gb_per_s *= x; }},
    {"hop of a collective", "usual; 10gbe: paper 003",
     [](SimSettings& s, double x) { s.network.hop_us *= x; }},
    {"launch of a collective", "assumed; summit: usual for NCCL",
     [](SimSettings& s, double x) { s.network.launch_us *= x; }},
    {"a tensor's copies", "summit: two launches, usual for CUDA",
     [](SimSettings& s, double x) { s.network.tensor_us *= x; }},
    {"share of bandwidth attained", "usual",
     [](SimSettings& s, double x) { s.network.attained = std::min(1.0, s.network.attained * x); }},
    {"data before a control message", "assumed: one segment of 64 KiB",
     [](SimSettings& s, double x) { s.network.data_queue_bytes *= x; }},
    {"jitter of compute", "assumed: steps vary by about 1 %",
     [](SimSettings& s, double x) { s.host.jitter_sigma *= x; }},
    {"probability of a stall", "assumed once for papers 000 and 001",
     [](SimSettings& s, double x) { s.host.stall_probability *= x; }},
    {"length of a stall", "assumed: tens of ms, paper 001 III-D",
     [](SimSettings& s, double x) { s.host.stall_mean_ms *= x; }},
    {"threads of input that need cores", "assumed: the pipeline fills its cores",
     [](SimSettings& s, double x) { s.host.busy_threads *= x; }},
    {"cycle", "paper 001 III-B: Horovod's default",
     [](SimSettings& s, double x) {
       s.tuning.cycle = Nanos(std::llround(static_cast<double>(s.tuning.cycle.count()) * x));
     }},
    {"displacements per ms spun", "fitted: TOPO of ResNet-50, paper 001",
     [](SimSettings& s, double x) { s.host.displaced_per_ms *= x; }},
    {"probability of oversleeping", "assumed",
     [](SimSettings& s, double x) { s.host.oversleep_probability *= x; }},
    {"length of oversleeping", "paper 001 III-D: up to tens of ms",
     [](SimSettings& s, double x) { s.host.oversleep_mean_ms *= x; }},
    {"window", "paper 001 V-B, a share of the step",
     [](SimSettings& s, double x) { s.host.window = std::min(1.0, s.host.window * x); }},
    {"wake-up of a thread", "usual",
     [](SimSettings& s, double x) { s.host.wake_us *= x; }},
    {"slack of timers", "Linux default",
     [](SimSettings& s, double x) { s.host.timer_slack_us *= x; }},
    {"one look at the order", "measured on our machine",
     [](SimSettings& s, double x) { s.host.negotiate_us *= x; }},
    {"reading a control byte", "fitted: paper 000 at 768; else 1 ns",
     [](SimSettings& s, double x) { s.host.parse_ns_per_byte *= x; }},
};

const Parameter kOfSharedCores[] = {
    {"overhead of a message (o)", "fitted: live",
     [](SimSettings& s, double x) { s.network.overhead_us *= x; }},
    {"reading a control byte", "assumed", [](SimSettings& s, double x) {
       s.host.parse_ns_per_byte *= x;
     }},
    {"slice of a shared core", "fitted: live",
     [](SimSettings& s, double x) { s.host.slice_us *= x; }},
    {"switch of threads", "fitted: live",
     [](SimSettings& s, double x) { s.host.switch_us *= x; }},
    {"a submission", "bench_control",
     [](SimSettings& s, double x) { s.host.submit_us *= x; }},
    {"an empty look", "fitted: live",
     [](SimSettings& s, double x) { s.host.look_us *= x; }},
    {"waking a thread", "fitted: live",
     [](SimSettings& s, double x) { s.host.ring_us *= x; }},
    {"a tensor of a bucket", "bench_control",
     [](SimSettings& s, double x) { s.host.tensor_us *= x; }},
    {"joining a bucket", "assumed",
     [](SimSettings& s, double x) { s.host.bucket_us *= x; }},
};

const Parameter kOfPaper003[] = {
    {"start-up of a message", "paper 003 V-A", nullptr,
     [](K80Cluster& c, double x) { c.latency_s *= x; }},
    {"time per byte", "10 Gbit/s", nullptr, [](K80Cluster& c, double x) { c.per_byte_s *= x; }},
    {"time per byte of a sum", "paper 003 I", nullptr,
     [](K80Cluster& c, double x) { c.reduce_per_byte_s *= x; }},
    {"compute of a step", "TensorFlow's benchmarks of 2017", nullptr,
     [](K80Cluster& c, double x) { c.resnet50_images_per_s /= x; }},
    {"forward share of compute", "assumed", nullptr,
     [](K80Cluster& c, double x) { c.forward_share *= x; }},
};

}  // namespace

std::span<const Parameter> assumed_parameters() { return kOfSteps; }

std::span<const Parameter> assumed_parameters(std::string_view study) {
  if (study == "paper003") return kOfPaper003;
  if (study == "live") return kOfSharedCores;
  return kOfSteps;
}

}  // namespace unisono::sim
