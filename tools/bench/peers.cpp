// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/peers.hpp"

#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/os/cpu.hpp"
#include "base/data/text.hpp"
#include "processes/capture.hpp"

namespace unisono::tools {
namespace {

constexpr const char* kProbeMpi = R"(
import numpy, mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(MPI.Get_library_version())
)";
constexpr const char* kProbeGloo = R"(
import numpy, torch, torch.distributed as dist
assert dist.is_available() and dist.is_gloo_available(), "this torch has no gloo"
print("torch", torch.__version__)
)";
constexpr const char* kProbeHorovod = R"(
import numpy, torch, horovod.torch, horovod
print("horovod", horovod.__version__)
)";

std::string python_of(const std::string& name, const std::map<std::string, std::string>& given) {
  if (const auto at = given.find(name); at != given.end()) return at->second;
  std::string variable = "UNISONO_PEER_";
  for (const char c : name) {
    variable.push_back(static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
  }
  if (const char* value = std::getenv((variable + "_PYTHON").c_str())) return value;
  return "python3";
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// Cuts "MPICH Version:   5.0.2\n..." and "Open MPI v5.0.11, package: ..." before the details.
std::string title_of(const std::string& text) {
  std::string title;
  for (const char c : text.substr(0, text.find_first_of(",\n"))) {
    if (c != ' ' || !title.ends_with(' ')) title.push_back(c);
  }
  return title;
}

// Finds mpirun of the same installation: first beside the interpreter, where PyPI packages put it.
std::string find_mpirun(const Peer& peer) {
  const std::string beside = std::filesystem::path(peer.python).parent_path();
  for (const char* name : {"mpirun", "mpiexec"}) {
    const std::string path = find_on_path(cat(beside, "/", name));
    if (!path.empty()) return path;
  }
  for (const std::string& name : {cat("mpirun.", peer.name), std::string("mpirun")}) {
    if (std::string path = find_on_path(name); !path.empty()) return path;
  }
  return "";
}

}  // namespace

Peer find_peer(const std::string& name, const std::map<std::string, std::string>& pythons) {
  Peer peer{name, find_on_path(python_of(name, pythons)), "", "", ""};
  const bool mpi = name == "openmpi" || name == "mpich";
  if (peer.python.empty()) {
    peer.missing = cat(python_of(name, pythons), " was not found");
    return peer;
  }
  const char* probe = mpi ? kProbeMpi : name == "gloo" ? kProbeGloo : kProbeHorovod;
  const Captured answer = capture({peer.python, "-c", probe});
  if (answer.exit_code != 0) {
    peer.missing = cat(peer.python, ": ",
                       answer.err.empty() ? "the probe did not end" : last_line(answer.err));
    return peer;
  }
  peer.version = title_of(answer.out);
  if (!mpi) return peer;
  const bool is_openmpi = answer.out.find("Open MPI") != std::string::npos;
  const bool is_mpich = answer.out.find("MPICH") != std::string::npos;
  if (name == "openmpi" ? !is_openmpi : !is_mpich) {
    peer.missing = cat("mpi4py of ", peer.python, " uses ", peer.version);
    return peer;
  }
  peer.launcher = find_mpirun(peer);
  if (peer.launcher.empty()) peer.missing = "its mpirun was not found";
  return peer;
}

PeerScripts::PeerScripts() {
  const char* base = std::getenv("TMPDIR");
  std::string name = cat(base == nullptr ? "/tmp" : base, "/unisono-bench-XXXXXX");
  if (::mkdtemp(name.data()) == nullptr) return;
  folder_ = name;
  for (const PeerScript& script : peer_scripts()) {
    std::ofstream(cat(folder_, "/", script.file)) << script.text;
  }
}

PeerScripts::~PeerScripts() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Launch launch_of_peer(const Peer& peer, const std::string& folder, int ranks,
                      const std::string& transport) {
  const std::string count = std::to_string(ranks);
  const bool tcp = transport == "tcp";
  Launch launch{{peer.name, "default", tcp ? "tcp" : "default"}, {}};
  if (peer.name == "gloo") {
    launch.label.transport = "tcp";
    for (int rank = 0; rank < ranks; ++rank) {
      std::map<std::string, std::string> environment{
          {"RANK", std::to_string(rank)},
          {"WORLD_SIZE", count},
          {"UNISONO_BENCH_STORE", cat("file://", folder, "/gloo.store")}};
      // Gloo resolves the host's name, which fails on many machines.
      if (std::getenv("GLOO_SOCKET_IFNAME") == nullptr) environment["GLOO_SOCKET_IFNAME"] = "lo";
      launch.processes.push_back({{peer.python, folder + "/peer_gloo.py"}, environment});
    }
    return launch;
  }
  if (peer.name == "horovod") {
    launch.label.transport = "default";
    launch.processes.push_back({{peer.python, "-m", "horovod.runner.launch", "-np", count,
                                 peer.python, folder + "/peer_horovod.py"},
                                {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                 {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}}});
    return launch;
  }
  Launch::Process process{{peer.launcher, "-np", count}, {}};
  if (peer.name == "openmpi") {
    process.environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                           {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
    if (ranks > usable_cores()) process.command.push_back("--oversubscribe");
    if (tcp) {
      for (const char* word : {"--mca", "pml", "ob1", "--mca", "btl", "self,tcp", "--mca", "coll",
                               "^sm,xhc,smdirect"}) {
        process.command.emplace_back(word);
      }
    }
  } else if (tcp) {
    process.environment = {{"MPIR_CVAR_NOLOCAL", "1"}, {"UCX_TLS", "tcp,self"}};
  }
  process.command.insert(process.command.end(), {peer.python, folder + "/peer_mpi.py"});
  launch.processes.push_back(std::move(process));
  return launch;
}

}  // namespace unisono::tools
