// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/data/text.hpp"
#include "base/os/fd.hpp"
#include "doctor/checks/files.hpp"
#include "text_table.hpp"

namespace unisono::tools {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kLittleMemory = 512 * kMiB;
constexpr std::int64_t kLittleShm = 256 * kMiB;  // Docker's default is 64 MiB

// Goes through what the arena does with its segments (src/arena/segment.cpp).
std::string try_memfd() {
  constexpr std::size_t kBytes = 1 << 20;
  const auto failed = [](const char* step) { return cat(step, ": ", std::strerror(errno)); };
  const Fd memory(::memfd_create("unisono-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid()) return failed("memfd_create");
  if (::ftruncate(memory.get(), kBytes) != 0) return failed("ftruncate");
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (::fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) return failed("F_ADD_SEALS");
  void* at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (at == MAP_FAILED) return failed("mmap");
  ::munmap(at, kBytes);
  if (::ftruncate(memory.get(), 0) == 0) return "a seal against shrinking has no effect";
  return "";
}

std::optional<FileSystemRoom> room_in(const char* folder) {
  struct statvfs about {};
  if (::statvfs(folder, &about) != 0) return std::nullopt;
  const auto block = static_cast<std::int64_t>(about.f_frsize);
  return FileSystemRoom{static_cast<std::int64_t>(about.f_blocks) * block,
                        static_cast<std::int64_t>(about.f_bavail) * block};
}

}  // namespace

std::string size_text(std::int64_t bytes) {
  const auto mib = static_cast<double>(bytes) / static_cast<double>(kMiB);
  return mib < 1024 ? cat(fixed(mib, 0), " MiB") : cat(fixed(mib / 1024, 1), " GiB");
}

std::optional<std::int64_t> parse_meminfo(std::string_view text, std::string_view key) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ':') continue;
    std::istringstream words(line.substr(key.size() + 1));
    std::int64_t kib = 0;
    if (words >> kib && kib >= 0) return kib * 1024;
  }
  return std::nullopt;
}

Finding judge_memory(std::optional<std::int64_t> total, std::optional<std::int64_t> available,
                     const std::optional<CgroupMemory>& cgroup) {
  const std::string name = "memory";
  if (!total || !available) {
    return doubtful(name, "/proc/meminfo does not say how much there is", "mount /proc");
  }
  std::string found = cat(size_text(*total), ", ", size_text(*available), " available");
  std::int64_t left = *available;
  if (cgroup && cgroup->limit < *total) {
    left = std::min(left, std::max<std::int64_t>(cgroup->limit - cgroup->used, 0));
    found += cat("; the cgroup allows ", size_text(cgroup->limit), ", of which ", size_text(left),
                 " are left");
  }
  if (left >= kLittleMemory) return good(name, found);
  return doubtful(name, found,
                  "end other programs, or raise the container's limit (docker run --memory=8g); a "
                  "rank that runs out is ended by SIGKILL");
}

Finding judge_dev_shm(const std::optional<FileSystemRoom>& room) {
  const std::string name = "/dev/shm";
  const std::string others = "unisono does not use it, but data loaders, MPI and NCCL do";
  if (!room) {
    return doubtful(name, cat("not there; ", others), "mount -t tmpfs tmpfs /dev/shm");
  }
  std::string found = cat(size_text(room->size), ", ", size_text(room->free), " free");
  if (room->free >= kLittleShm) return good(name, found);
  return doubtful(name, cat(found, "; ", others),
                  "mount -o remount,size=50% /dev/shm, or docker run --shm-size=8g, or remove what "
                  "ended programs left there");
}

Finding judge_memfd(const std::string& trouble) {
  const std::string name = "shared memory";
  if (trouble.empty()) return good(name, "memfd and its seals work");
  return doubtful(name, cat("cannot be made (", trouble, "): ranks of this host use TCP instead"),
                  "allow memfd_create and F_ADD_SEALS in the sandbox (seccomp profile), or raise "
                  "the limit on address space: ulimit -v unlimited");
}

std::vector<Finding> check_memory() {
  const std::string info = text_of("/proc/meminfo");
  return {judge_memory(parse_meminfo(info, "MemTotal"), parse_meminfo(info, "MemAvailable"),
                       cgroup_memory()),
          judge_memfd(try_memfd()), judge_dev_shm(room_in("/dev/shm"))};
}

}  // namespace unisono::tools
