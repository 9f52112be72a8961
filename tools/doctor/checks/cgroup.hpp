// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The limits that a container or a systemd unit sets for this process. The texts are the kernel's;
// what takes them apart is pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unisono::tools {

// The folders that may hold limits of one controller ("cpu", "memory"), the process's own first and
// then those around it, from the text of /proc/self/cgroup. A limit of any of them counts.
std::vector<std::string> cgroup_folders(std::string_view text, std::string_view controller);

// How many CPUs' worth of time: "150000 100000" of cpu.max (version 2); nothing when unlimited.
std::optional<double> parse_cpu_max(std::string_view text);
// The same from cpu.cfs_quota_us and cpu.cfs_period_us (version 1), where -1 is unlimited.
std::optional<double> parse_cfs_quota(std::string_view quota, std::string_view period);
// Bytes; nothing for "max", and for the huge number by which version 1 says the same.
std::optional<std::int64_t> parse_memory_limit(std::string_view text);

struct CgroupMemory {
  std::int64_t limit = 0, used = 0;
};

// The least CPU quota, and the memory limit with the least left. Both read files.
std::optional<double> cgroup_cpu_quota();
std::optional<CgroupMemory> cgroup_memory();

}  // namespace unisono::tools
