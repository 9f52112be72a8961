// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Memory, and memory that ranks of a host share. Pure, but for check_memory().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/checks/cgroup.hpp"
#include "doctor/finding.hpp"

namespace unisono::tools {

// "1.5 GiB", "300 MiB".
std::string size_text(std::int64_t bytes);
// Bytes of a "MemAvailable:  123 kB" line of /proc/meminfo.
std::optional<std::int64_t> parse_meminfo(std::string_view text, std::string_view key);

Finding judge_memory(std::optional<std::int64_t> total, std::optional<std::int64_t> available,
                     const std::optional<CgroupMemory>& cgroup);

struct FileSystemRoom {
  std::int64_t size = 0, free = 0;
};
Finding judge_dev_shm(const std::optional<FileSystemRoom>& room);

// trouble: which step of making shared memory failed, and why; "" when none did.
Finding judge_memfd(const std::string& trouble);

std::vector<Finding> check_memory();

}  // namespace unisono::tools
