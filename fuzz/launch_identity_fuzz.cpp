// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Who this process is, from whatever launchers left in the environment: "NAME=value" lines.
#include <map>

#include "rendezvous/bootstrap/join.hpp"
#include "target.hpp"

namespace unisono::fuzz {
namespace {

// Files and descriptors of the fuzzer itself are not to be touched.
bool touches_the_process(std::string_view name) {
  return name == "UNISONO_KEY_FD" || name == "UNISONO_LISTEN_FD" || name == "UNISONO_KEY_FILE";
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  std::map<std::string, std::string> variables;
  std::string_view text = text_of(bytes);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || touches_the_process(line.substr(0, equals))) continue;
    variables.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  auto launch_identity = rendezvous::launch_identity_from_environment(
      [&](const std::string& name) -> std::optional<std::string> {
        const auto it = variables.find(name);
        return it == variables.end() ? std::nullopt : std::optional(it->second);
      });
  if (!launch_identity) return;
  const Identity& identity = launch_identity->identity;
  must(identity.rank >= 0 && identity.rank < identity.size, "a rank outside of its job");
  must(identity.local_size == 0 || identity.local_rank < identity.local_size,
       "a local rank outside of its host");
}

std::vector<Bytes> seeds() {
  return {bytes_of("UNISONO_RANK=1\nUNISONO_SIZE=2\nUNISONO_JOB=a\nUNISONO_LOCAL_RANK=1\n"
                   "UNISONO_LOCAL_SIZE=2\n"),
          bytes_of("RANK=1\nWORLD_SIZE=4\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nMASTER_ADDR=::1\n"
                   "MASTER_PORT=29500\nTORCHELASTIC_RUN_ID=x\nSLURM_PROCID=0\nSLURM_NTASKS=2\n"),
          bytes_of("OMPI_COMM_WORLD_RANK=0\nOMPI_COMM_WORLD_SIZE=2\nPMIX_RANK=0\n"
                   "OMPI_COMM_WORLD_LOCAL_RANK=0\nOMPI_COMM_WORLD_LOCAL_SIZE=2\n"),
          bytes_of("PMI_RANK=1\nPMI_SIZE=3\nHOROVOD_RANK=1\nHOROVOD_SIZE=3\n"),
          bytes_of("SLURM_PROCID=1\nSLURM_NTASKS=8\nSLURM_STEP_NUM_TASKS=2\nSLURM_NNODES=2\n")};
}

}  // namespace unisono::fuzz
