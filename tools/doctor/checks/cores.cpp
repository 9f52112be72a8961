// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/cores.hpp"

#include "affinity/bind.hpp"
#include "base/data/text.hpp"
#include "doctor/checks/cgroup.hpp"
#include "doctor/checks/files.hpp"
#include "model/options/cpu_request.hpp"
#include "model/options/option_values.hpp"
#include "text_table.hpp"

namespace unisono::tools {

Finding judge_cores(const CpuFacts& facts) {
  const std::string name = "cores";
  const std::size_t usable = facts.allowed.size();
  if (usable == 0) {
    return doubtful(name, "the kernel does not say which CPUs this process may use",
                    "see whether a sandbox refuses sched_getaffinity");
  }
  std::string found = cat(usable);
  if (!facts.online.empty()) found += cat(" of ", facts.online.size());
  found += cat(" online CPUs usable (", cpu_list_text(facts.allowed), ")");
  if (facts.quota && *facts.quota < static_cast<double>(usable)) {
    return doubtful(
        name,
        cat(found, ", but the cgroup grants the time of ", fixed(*facts.quota, 1),
            " only: when that is used up, all threads stop until the next period"),
        "give the container CPUs of its own (docker run --cpuset-cpus=0-3 in place of --cpus), or "
        "raise the quota (docker update --cpus=N, systemctl set-property UNIT CPUQuota=N00%)");
  }
  found += facts.quota ? cat(", cgroup quota ", fixed(*facts.quota, 1)) : ", no cgroup quota";
  if (usable == 1 && facts.online.size() > 1) {
    return doubtful(name, cat(found, ": ranks, engine and input pipeline take turns on it"),
                    cat("widen the mask: taskset -cp ", cpu_list_text(facts.online),
                        " $$, or docker run --cpuset-cpus, or ask the batch system for more"));
  }
  return good(name, found);
}

Finding check_cores() {
  CpuFacts facts;
  const auto online = parse_cpu_list(trim(text_of("/sys/devices/system/cpu/online")));
  if (online) facts.online = *online;
  facts.allowed = affinity::bound_cpus();
  facts.quota = cgroup_cpu_quota();
  return judge_cores(facts);
}

}  // namespace unisono::tools
