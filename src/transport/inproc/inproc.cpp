// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Ranks as threads: one lazily touched mapping holds the rings of every pair.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

#include "base/check.hpp"
#include "base/data/text.hpp"
#include "transport/mesh/mesh.hpp"
#include "transport/shm/pair_memory.hpp"
#include "transport/shm/ring_stream.hpp"

namespace unisono::transport {

struct InprocWorld::Shared {
  explicit Shared(int ranks) : size(ranks), bells(static_cast<std::size_t>(ranks)) {
    const auto n = static_cast<std::size_t>(ranks);
    bytes = n * (n - 1) / 2 * kPairBytes;
    if (bytes == 0) return;
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return;
    // With huge pages, every pair that sends a single message would use two megabytes.
    ::madvise(at, bytes, MADV_NOHUGEPAGE);
    memory = static_cast<std::byte*>(at);
  }
  ~Shared() {
    if (memory != nullptr) ::munmap(memory, bytes);
  }

  // Zeroed memory is an empty pair, so a pair costs nothing before it is used.
  PairMemory pair(Rank a, Rank b) const {
    const auto low = static_cast<std::size_t>(std::min(a, b));
    const auto high = static_cast<std::size_t>(std::max(a, b));
    return PairMemory(memory + (high * (high - 1) / 2 + low) * kPairBytes);
  }
  std::vector<Rank> missing() const {
    std::vector<Rank> ranks;
    for (int r = 0; r < size; ++r) {
      if (bells[static_cast<std::size_t>(r)] == nullptr) ranks.push_back(r);
    }
    return ranks;
  }

  const int size;
  std::size_t bytes = 0;
  std::byte* memory = nullptr;
  std::mutex mutex;
  std::condition_variable joined;
  int joined_count = 0;
  std::vector<std::shared_ptr<const BellPage>> bells;  // by rank; null until it has joined
};

namespace {
// Keeps alive what the streams to one peer use: the rings and the peer's bell.
template <typename Shared>
struct Held {
  std::shared_ptr<Shared> shared;
  std::shared_ptr<const BellPage> bell;
};
}  // namespace

InprocWorld::InprocWorld(int size) {
  UNISONO_CHECK(size > 0);
  shared_ = std::make_shared<Shared>(size);
}
InprocWorld::~InprocWorld() = default;
int InprocWorld::size() const { return shared_->size; }

Result<std::unique_ptr<Transport>> InprocWorld::join(Rank rank, Doorbell& bell,
                                                                Nanos deadline) {
  Shared& shared = *shared_;
  UNISONO_CHECK(rank >= 0 && rank < shared.size);
  if (shared.memory == nullptr && shared.size > 1) {
    return Status(Code::unavailable, cat("cannot map ", shared.bytes, " bytes for the rings of ",
                                         shared.size, " ranks; use fewer, or allow overcommit"));
  }
  const auto self = static_cast<std::size_t>(rank);
  {
    std::unique_lock lock(shared.mutex);
    UNISONO_CHECK(shared.bells[self] == nullptr);
    shared.bells[self] = bell.page();
    ++shared.joined_count;
    shared.joined.notify_all();
    const auto everyone = [&] { return shared.joined_count == shared.size; };
    if (!shared.joined.wait_for(lock, deadline, everyone)) {
      const std::string ranks = join_text(shared.missing());
      shared.bells[self] = nullptr;
      --shared.joined_count;
      return Status(Code::timed_out, cat("rank ", rank, " waited ", nanos_to_seconds(deadline),
                                         " s for ranks that never joined: ", ranks));
    }
  }

  MeshSettings settings;
  settings.name = "inproc";
  settings.rank = rank;
  std::vector<PeerLanes> lanes(static_cast<std::size_t>(shared.size));
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  for (Rank peer = 0; peer < shared.size; ++peer) {
    settings.peers.push_back({peer, host, ::getpid()});
    if (peer == rank) continue;
    const auto p = static_cast<std::size_t>(peer);
    const PairMemory pair = shared.pair(rank, peer);
    const int side = rank < peer ? 0 : 1;
    auto held = std::make_shared<Held<Shared>>(Held<Shared>{shared_, shared.bells[p]});
    const Ringer ringer{held->bell->event_fd(), held->bell->flag()};
    lanes[p].control.stream = std::make_unique<RingStream>(
        pair.control(1 - side), pair.control(side), ringer, held);
    lanes[p].data.emplace_back().stream =
        std::make_unique<RingStream>(pair.data(1 - side), pair.data(side), ringer, held);
    lanes[p].can_fall_silent = false;
  }
  return make_mesh(std::move(settings), std::move(lanes));
}

}  // namespace unisono::transport
