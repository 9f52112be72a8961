// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "arena/neighbourhood.hpp"

#include <unistd.h>

#include <algorithm>

#include "arena/board.hpp"

namespace unisono::arena {
namespace {

#ifdef UNISONO_SANITIZED
constexpr std::size_t kBytesMax = std::size_t{64} << 20;  // sanitisers leave little address space
#else
constexpr std::size_t kBytesMax = std::size_t{256} << 30;
#endif
constexpr std::size_t kLeastBytes = std::size_t{64} << 20;

// Address space only until a window is used.
#ifdef UNISONO_SANITIZED
constexpr std::size_t kHostWindowsBytes = 8 * kHostWindowBytes;
#else
constexpr std::size_t kHostWindowsBytes = 2 * kBoardSlots * kHostWindowBytes;
#endif

Neighbour neighbour_of(const Segment& segment, Ringer bell) {
  return {segment.base(), segment.size(), segment.size() - kHostWindowsBytes, bell};
}

std::size_t machine_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page)
                               : std::size_t{8} << 30;
}

}  // namespace

Neighbourhood::Neighbourhood(Rank self, int size, Segment own, Ringer bell)
    : self_(self),
      own_(std::make_shared<Segment>(std::move(own))),
      heap_(std::make_unique<Heap>(kBoardBytes, own_->size() - kHostWindowsBytes)),
      host_windows_(
          std::make_unique<Heap>(own_->size() - kHostWindowsBytes, own_->size())),
      by_rank_(static_cast<std::size_t>(size)) {
  by_rank_[static_cast<std::size_t>(self)] = neighbour_of(*own_, bell);
}

Result<std::unique_ptr<Neighbourhood>> Neighbourhood::create(Rank self, int size,
                                                             std::size_t bytes, Ringer bell) {
  const bool automatic = bytes == 0;
  if (automatic) bytes = std::min(kBytesMax, machine_bytes());
  constexpr std::size_t kPage = 2 << 20;
  bytes = (std::max(bytes, 2 * kBoardBytes) + kPage - 1) / kPage * kPage;
  auto own = Segment::create(bytes + kHostWindowsBytes);
  // Where address space is limited (ulimit -v), a smaller arena is better than none.
  while (automatic && !own && bytes / 2 >= kLeastBytes) {
    bytes = bytes / 2 / kPage * kPage;
    own = Segment::create(bytes + kHostWindowsBytes);
  }
  if (!own) return own.status();
  return std::unique_ptr<Neighbourhood>(
      new Neighbourhood(self, size, std::move(own).value(), bell));
}

void Neighbourhood::add(Rank rank, std::shared_ptr<Segment> segment, Ringer bell,
                        std::shared_ptr<const void> keeper) {
  by_rank_[static_cast<std::size_t>(rank)] = neighbour_of(*segment, bell);
  keepers_.push_back(std::move(segment));
  keepers_.push_back(std::move(keeper));
}

bool Neighbourhood::covers(const Members& members) const {
  if (members.count() > kMembersMax) return false;
  for (const Rank a : members.ranks) {
    for (const Rank b : members.ranks) {
      if (a != b && !shares_[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)])
        return false;
    }
  }
  return true;
}

std::optional<HostGroups> Neighbourhood::groups(const Members& members) const {
  auto found = group_by_host(members, [this](Rank a, Rank b) {
    return shares_[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
  });
  // A host that is too large for a team is so for all, who must take the same way.
  const auto too_large = [](const std::vector<Rank>& host) {
    return host.size() > static_cast<std::size_t>(kMembersMax);
  };
  if (found && std::any_of(found->hosts.begin(), found->hosts.end(), too_large)) {
    return std::nullopt;
  }
  return found;
}

std::vector<Neighbour> Neighbourhood::neighbours(const Members& members) const {
  std::vector<Neighbour> found;
  for (const Rank rank : members.ranks) found.push_back(*by_rank_[static_cast<std::size_t>(rank)]);
  return found;
}

}  // namespace unisono::arena
