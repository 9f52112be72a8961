// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "arena/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/os/retry.hpp"
#include "base/data/text.hpp"

namespace unisono::arena {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

std::byte* map_shared(int fd, std::size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (at == MAP_FAILED) return nullptr;
  // A killed rank's core dump should not contain all ranks' gradients; huge pages save page walks.
  ::madvise(at, bytes, MADV_DONTDUMP);
  ::madvise(at, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(at);
}

Status refused(std::string_view what, std::size_t bytes) {
  return Status(Code::unavailable,
                cat("shared memory of ", bytes, " bytes could not be ", what, ": ",
                    std::strerror(errno), "; lower arena_bytes or raise the limit (ulimit -v)"));
}

// Returns 0 or an errno. When a signal interrupts the call, the kernel frees all the pages of that
// call, so a timer, e.g. a profiler's, could interrupt the same call for ever: the next one is
// shorter.
int allocate(int memory, int mode, std::size_t offset, std::size_t bytes) {
  constexpr std::size_t kLeast = 4096;
  for (std::size_t piece = bytes; bytes > 0;) {
    piece = std::min(piece, bytes);
    if (::fallocate(memory, mode, static_cast<off_t>(offset), static_cast<off_t>(piece)) == 0) {
      offset += piece;
      bytes -= piece;
    } else if (errno != EINTR) {
      return errno;
    } else {
      piece = std::max(kLeast, piece / 2 / kLeast * kLeast);
    }
  }
  return 0;
}

}  // namespace

Segment::Segment(Fd memory, std::byte* base, std::size_t bytes)
    : memory_(std::move(memory)), base_(base), bytes_(bytes) {}

Segment::Segment(Segment&& other) noexcept
    : memory_(std::move(other.memory_)),
      base_(std::exchange(other.base_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Segment::~Segment() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

Result<Segment> Segment::create(std::size_t bytes) {
  Fd memory(::memfd_create("unisono-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid()) return refused("made", bytes);
  if (retried([&] { return ::ftruncate(memory.get(), static_cast<off_t>(bytes)); }) != 0 ||
      ::fcntl(memory.get(), F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0) {
    return refused("sized", bytes);
  }
  std::byte* base = map_shared(memory.get(), bytes);
  if (base == nullptr) return refused("mapped", bytes);
  return Segment(std::move(memory), base, bytes);
}

Result<Segment> Segment::map(Fd memory) {
  struct stat about {};
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  // Memory that could shrink under the mapping would end this process with SIGBUS.
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals || ::fstat(memory.get(), &about) != 0) {
    return Status(Code::corrupted, "a peer's shared memory is not sealed against shrinking");
  }
  const auto bytes = static_cast<std::size_t>(about.st_size);
  std::byte* base = map_shared(memory.get(), bytes);
  if (base == nullptr) return refused("mapped", bytes);
  return Segment(std::move(memory), base, bytes);
}

bool Segment::holds(const void* address, std::size_t bytes) const {
  const auto* from = static_cast<const std::byte*>(address);
  return base_ != nullptr && from >= base_ && from <= base_ + bytes_ &&
         bytes <= static_cast<std::size_t>(base_ + bytes_ - from);
}

Status Segment::commit(std::size_t offset, std::size_t bytes) {
  const int error = allocate(memory_.get(), FALLOC_FL_KEEP_SIZE, offset, bytes);
  if (error == 0 || error == EOPNOTSUPP) return {};
  return Status(Code::out_of_memory,
                cat("no shared memory for ", bytes, " bytes: ", std::strerror(error),
                    "; free memory on this host, or lower fusion_bytes"));
}

void Segment::discard(std::size_t offset, std::size_t bytes) {
  allocate(memory_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes);
}

}  // namespace unisono::arena
