// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// HEP-CNN and CosmoGAN on the KNL nodes of Cori (Kurth et al.): what the ways to communicate there
// were made of, in what the simulator has. Nothing is fitted but the critical batch of the time to a
// loss, to its first row.
#include <algorithm>
#include <iterator>

#include "base/data/text.hpp"
#include "sim/study/bench.hpp"

namespace unisono::sim {
namespace {

// Assumed: one thread of such a processor moves and adds a quarter of what the adapter could.
constexpr double kOneThread = 0.25;
// Paper 002, III-B: 1.5 to 2 times the allreduces of MPI.
constexpr double kMlslOverMpi = 1.5;
// Of 66 threads of compute two are left to the servers (VI-A).
constexpr double kWithoutTwo = 66.0 / 64;
// Assumed: to hand a tensor to a server in another process and to take it back.
constexpr double kHandOverUs = 100;

SimSettings knl(const char* model, int ranks) {
  SimSettings s = summit_settings();
  s.network = parse_network("aries").value();
  s.network.attained = kOneThread;
  s.workload = make_workload(model).value();
  s.host.ranks_per_host = 1;
  s.host.cores_per_rank = 68;
  s.host.busy_threads = 66;
  s.ranks = ranks;
  return s;
}

SimSettings horovod_mpi(SimSettings s) { return with_order(std::move(s), "coordinator", "cycle"); }

// Its background thread does not sleep between rounds.
SimSettings mlsl(SimSettings s) {
  s.network.attained = std::min(1.0, s.network.attained * kMlslOverMpi);
  return with_order(std::move(s), "coordinator", "event");
}

SimSettings with_servers(SimSettings s) {
  s.network.attained = std::min(0.9, s.network.attained * 2);
  s.network.tensor_us += kHandOverUs;
  for (WorkloadTensor& tensor : s.workload.tensors) tensor.ready_us *= kWithoutTwo;
  s.workload.compute_us *= kWithoutTwo;
  return s;
}

// No agreement: the program says the order. A team is a thread.
SimSettings cpe_ml(SimSettings s, int teams) {
  s.network.attained = std::min(0.9, s.network.attained * teams);
  return with_order(std::move(s), "topo", "event");
}

void time_to_loss(StudyBench& bench) {
  constexpr double kPublished[] = {86, 78, 62};
  double steps[4] = {};
  int at = 0;
  for (const int nodes : {8, 16, 32, 64}) {
    SimSettings s = cpe_ml(knl("hep-cnn", nodes), 1);
    s.iterations = 4 * bench.options().iterations;
    steps[at++] = bench.run_as_is(cat("HEP-CNN ", nodes, ", CPE ML"), s).step_ms;
  }
  // Samples to the loss are 1 + batch / critical times those of a small batch: the critical batch,
  // in batches of 8 nodes, from the first row.
  const auto reached = [&](double critical, int i) {
    const double nodes = 8 << i;
    return 100 * (steps[0] / steps[i]) * (1 + 1 / critical) / (1 + nodes / 8 / critical);
  };
  double low = 0.01, high = 1e4;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (reached(middle, 1) < kPublished[0] ? low : high) = middle;
  }
  bench.fitted("HEP-CNN to a loss of 0.1: efficiency at 16 over 8", "%", kPublished[0],
               reached(high, 1), cat("critical batch ", static_cast<int>(1024 * high)));
  for (const int i : {2, 3}) {
    bench.row(cat("HEP-CNN to a loss of 0.1: efficiency at ", 8 << i, " over 8"), "%",
              kPublished[i - 1], kPublished[i - 1], reached(high, i));
  }
}

}  // namespace

void study_paper002(StudyBench& bench) {
  const SimSettings hep = knl("hep-cnn", 2048), gan = knl("cosmogan", 2048);
  const auto run = [&](const char* name, SimSettings s) {
    return bench.run(name, std::move(s)).step_ms;
  };
  const double hep_mpi = run("HEP-CNN, Horovod-MPI", horovod_mpi(hep));
  const double hep_mlsl = run("HEP-CNN, MLSL", mlsl(hep));
  const double hep_servers = run("HEP-CNN, MLSL, 2 servers", with_servers(mlsl(hep)));
  const double hep_cpe = run("HEP-CNN, CPE ML", cpe_ml(hep, 1));
  const double gan_mpi = run("CosmoGAN, Horovod-MPI", horovod_mpi(gan));
  const double gan_mlsl = run("CosmoGAN, MLSL", mlsl(gan));
  const double gan_servers = run("CosmoGAN, MLSL, 2 servers", with_servers(mlsl(gan)));
  const double gan_cpe = run("CosmoGAN, CPE ML", cpe_ml(gan, 2));
  bench.row("HEP-CNN at 2,048: servers over none", "x", 0, 1, hep_mlsl / hep_servers,
            "published as not beneficial");
  bench.row("HEP-CNN at 2,048: MLSL over Horovod-MPI", "x", 1, 2, hep_mpi / hep_mlsl,
            "published as better");
  bench.row("HEP-CNN at 2,048: CPE ML over MLSL", "x", 1, 1.1, hep_mlsl / hep_cpe,
            "published as a small margin");
  bench.row("CosmoGAN at 2,048: servers over none", "x", 1, 2, gan_mlsl / gan_servers,
            "published as even better");
  bench.row("CosmoGAN at 2,048: MLSL over CPE ML", "x", 1.05, 1.05, gan_cpe / gan_servers);
  bench.row("CosmoGAN at 2,048: MLSL over Horovod-MPI", "x", 1.2, 1.2, gan_mpi / gan_servers);
  bench.row("CosmoGAN at 2,048: CPE ML over Horovod-MPI", "x", 1.2, 1.2, gan_mpi / gan_cpe);
  time_to_loss(bench);
}

}  // namespace unisono::sim
