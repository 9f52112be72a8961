// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Caching and grouping in Horovod on Summit (Romero et al.).
#include "base/data/text.hpp"
#include "sim/study/bench.hpp"

namespace unisono::sim {
namespace {

SimSettings synthetic_summit(const char* model, int ranks) {
  SimSettings s = summit_settings();
  s.host.busy_threads = kSyntheticInput;
  s.workload = make_workload(model).value();
  s.ranks = ranks;
  return s;
}

// Collectives of an MPI between GPUs of that time: one ring of all ranks, and sums on the processor,
// where the six ranks of a host share its memory.
SimSettings over_mpi(SimSettings s) {
  s.network.algorithm = "ring";
  s.network.reduce_ns_per_byte = s.host.ranks_per_host / s.network.local_gb_per_s;
  return s;
}

constexpr const char* kOneFramework = "the simulator has one framework: the same run";
constexpr const char* kReading = "reading a control byte was fitted between these two rows";

void groups_and_cache(StudyBench& bench, const SimSettings& base) {
  for (const bool cached : {true, false}) {
    const SimSettings s = with_order(base, cached ? "cache" : "coordinator", "cycle");
    const std::string which = cached ? "cache on" : "cache off";
    double none = 0;
    for (const int groups : {0, 2, 5, 10, 20}) {
      const double step =
          bench.run(cat("ResNet-50 768, ", which, ", ", groups, " groups"), with_groups(s, groups))
              .step_ms;
      if (groups == 0) none = step;
      if (groups == 0) continue;
      const std::string figure = cat("ResNet-50 at 768, ", which, ": ", groups, " groups");
      if (cached && (groups == 5 || groups == 10)) {
        bench.row(figure, "x", 1.05, 1.05, none / step, "TensorFlow; less with PyTorch");
      } else {
        bench.unpublished(figure, "x", none / step);
      }
    }
  }
}

}  // namespace

void study_paper000(StudyBench& bench) {
  const SimSettings stem = synthetic_summit("stemdl", 6000);
  const SimResult base =
      bench.run("STEMDL 6,000, coordinator", with_order(stem, "coordinator", "cycle"));
  const SimSettings cached = with_order(stem, "cache", "cycle");
  const SimResult cache = bench.run("STEMDL 6,000, cache", cached);
  const SimResult both = bench.run("STEMDL 6,000, cache + groups", with_groups(cached, 10));
  bench.row("STEMDL at 6,000: caching", "x", 1.64, 1.64, base.step_ms / cache.step_ms,
            "compute and tensors are not published, and were chosen with this row in mind");
  bench.row("STEMDL at 6,000: caching + grouping", "x", 1.97, 1.97, base.step_ms / both.step_ms);

  SimSettings res = synthetic_summit("resnet50", 768);
  const SimResult off =
      bench.run("ResNet-50 768, coordinator", with_order(res, "coordinator", "cycle"));
  const SimResult on = bench.run("ResNet-50 768, cache", with_order(res, "cache", "cycle"));
  bench.fitted("ResNet-50 at 768: caching (TensorFlow)", "x", 2.5, off.step_ms / on.step_ms,
               kReading);
  bench.fitted("ResNet-50 at 768: caching (PyTorch)", "x", 1.6, off.step_ms / on.step_ms,
               cat(kReading, "; ", kOneFramework));
  res.ranks = 1536;
  const SimResult wide =
      bench.run("ResNet-50 1,536, cache + groups", with_groups(with_order(res, "cache", "cycle"), 5));
  bench.row("ResNet-50 at 1,536: efficiency", "", 0.93, 0.97, wide.efficiency);
  SimSettings all = cached;
  all.ranks = 27600;
  const SimResult full = bench.run("STEMDL 27,600, cache + groups", with_groups(all, 10));
  bench.row("STEMDL at 27,600: efficiency", "", 0.93, 0.93, full.efficiency);
}

void study_paper000_further(StudyBench& bench) {
  const SimSettings res = synthetic_summit("resnet50", 768);
  groups_and_cache(bench, res);
  const SimSettings mpi = over_mpi(res);
  const SimSettings mpi_cached = with_order(mpi, "cache", "cycle");
  const double off =
      bench.run("ResNet-50 768, MPI", with_order(mpi, "coordinator", "cycle")).step_ms;
  const double on = bench.run("ResNet-50 768, MPI, cache", mpi_cached).step_ms;
  const double grouped =
      bench.run("ResNet-50 768, MPI, cache + groups", with_groups(mpi_cached, 5)).step_ms;
  bench.row("ResNet-50 at 768, MPI: caching (TensorFlow)", "x", 1.53, 1.53, off / on);
  bench.row("ResNet-50 at 768, MPI: caching (PyTorch)", "x", 1.15, 1.15, off / on, kOneFramework);
  bench.row("ResNet-50 at 768, MPI: 5 groups", "x", 0, 1.02, on / grouped,
            "published as marginal or negative");
  for (const char* model : {"efficientnet-b0", "vgg19"}) {
    const SimSettings s = with_order(synthetic_summit(model, 1536), "cache", "cycle");
    const SimResult r = bench.run(cat(model, " 1,536, cache + groups"), with_groups(s, 5));
    bench.unpublished(cat(model, " at 1,536: efficiency"), "", r.efficiency,
                      "the paper has it as a plot");
  }
  const SimSettings stem = with_order(synthetic_summit("stemdl", 6000), "coordinator", "cycle");
  SimSettings staged = stem;
  staged.network.algorithm = "hierarchical";
  const double best = bench.run("STEMDL 6,000, best algorithm", stem).step_ms;
  const double levels = bench.run("STEMDL 6,000, hierarchical", staged).step_ms;
  const double plain = bench.run("STEMDL 6,000, MPI", over_mpi(stem)).step_ms;
  bench.row("STEMDL at 6,000: NCCL over hierarchical", "x", 3.2, 3.2, levels / best,
            "ours of that name is another algorithm than Horovod's of then");
  bench.row("STEMDL at 6,000: NCCL over MPI", "x", 5.4, 5.4, plain / best,
            "the paper says it of 6,000 and also that MPI ran on at most 1,536");
}

}  // namespace unisono::sim
