// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Lanes between two processes of one host: rings in a memfd, each other's bell, and a unix socket.
// When the socket or the process at its other end has ended, the peer has ended. Nothing has a
// name, so a killed process leaves nothing behind.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <array>
#include <new>
#include <utility>

#include "base/check.hpp"
#include "base/os/child_closes.hpp"
#include "base/os/process_end.hpp"
#include "base/os/retry.hpp"
#include "base/data/text.hpp"
#include "transport/shm/fd_passing.hpp"
#include "transport/mesh/mesh.hpp"
#include "transport/shm/pair_memory.hpp"
#include "transport/shm/ring_stream.hpp"

namespace unisono::transport {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

class Mapping {
 public:
  Mapping() = default;
  Mapping(int fd, std::size_t bytes) : bytes_(bytes) {
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) at_ = at;
  }
  Mapping(Mapping&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)), bytes_(other.bytes_) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping() {
    if (at_ != nullptr) ::munmap(at_, bytes_);
  }
  void* at() const { return at_; }

 private:
  void* at_ = nullptr;
  std::size_t bytes_ = 0;
};

// Everything that both streams of a pair use.
struct ShmPair {
  ShmPair(Fd connected, Poller& watcher) : socket(std::move(connected)), poller(watcher) {}
  ~ShmPair() { unwatch(); }
  void watch(std::uint64_t key) {
    poller.watch(socket.get(), key, true, false);
    if (process.valid()) poller.watch(process.get(), key, true, false);
    watched = true;
  }
  // Checks whether the peer's process is alive and holds its end of the socket, on which nothing is
  // sent. Both are needed: children of the peer can hold the socket open, and not every kernel
  // reports the end of the process.
  void look() {
    pollfd ends[] = {{socket.get(), POLLIN, 0}, {process.get(), POLLIN, 0}};
    if (::poll(ends, 2, 0) <= 0) return;
    gone = true;
    unwatch();
  }
  // An ended socket stays readable for ever and would keep the engine from sleeping.
  void unwatch() {
    if (!std::exchange(watched, false)) return;
    poller.forget(socket.get());
    if (process.valid()) poller.forget(process.get());
  }

  Fd socket;
  const ChildCloses closes{socket};
  Fd process;  // readable once the peer's process has ended; may be empty
  Poller& poller;
  bool watched = false, gone = false;
  int side = 0, streams = 0;
  Mapping memory, peer_bell_page;
  Fd peer_bell, peer_arena;
  std::shared_ptr<const BellPage> own_bell;
  unsigned looks = 0;
};

class ShmStream final : public RingStream {
 public:
  ShmStream(RingMemory in, RingMemory out, Ringer peer, std::shared_ptr<ShmPair> pair)
      : RingStream(in, out, peer, pair), pair_(std::move(pair)) {
    ++pair_->streams;
  }
  // The pair may live on to ring the bell, but nobody waits for the peer's end any more.
  ~ShmStream() override {
    if (--pair_->streams == 0) pair_->unwatch();
  }

  Status health() override {
    if (Status status = RingStream::health(); !status.ok()) return status;
    // A killed process closes no ring. The poller then wakes the engine repeatedly until one of
    // these looks notices, so most idle rounds can skip the system call.
    constexpr unsigned kLookEvery = 32;
    if (!pair_->gone && ++pair_->looks % kLookEvery == 0) pair_->look();
    if (pair_->gone) return Status(Code::peer_lost, "its process ended");
    return {};
  }
  bool ready(bool writing) const override { return pair_->gone || RingStream::ready(writing); }
  bool beat_quietly() override {
    auto& count = PairMemory(pair_->memory.at()).header().beats[pair_->side].count;
    count.fetch_add(1, std::memory_order_relaxed);
    if (!pair_->gone) pair_->look();
    return true;
  }
  std::uint64_t heard() const override {
    const auto& beat = PairMemory(pair_->memory.at()).header().beats[1 - pair_->side];
    return beat.count.load(std::memory_order_relaxed);
  }

 private:
  std::shared_ptr<ShmPair> pair_;
};

// What each side sends first, with the two descriptors of its bell. The creator adds the pair's
// memory; a rank that has an arena adds it last.
struct Hello {
  std::uint32_t magic = kPairMagic;
  std::uint32_t version = kPairVersion;
  std::uint64_t pair_bytes = kPairBytes;
  std::uint32_t can_share = 0;
  std::uint32_t has_arena = 0;
};
// What each side answers once it has mapped everything.
struct Verdict {
  std::uint32_t magic = kPairMagic;
  std::uint32_t mapped = 0;
};

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <typename T>
std::span<std::byte> writable_bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

Fd create_pair() {
  Fd memory(::memfd_create("unisono-pair", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid() || retried([&] { return ::ftruncate(memory.get(), kPairBytes); }) != 0 ||
      ::fcntl(memory.get(), F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0) {
    return Fd();
  }
  return memory;
}

// Memory that could shrink under the mapping would end this process with SIGBUS.
bool is_sealed(int fd, std::size_t bytes) {
  struct stat about {};
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & kSizeSeals) == kSizeSeals && ::fstat(fd, &about) == 0 &&
         about.st_size == static_cast<off_t>(bytes);
}

bool map_passed(ShmPair& pair, std::vector<Fd>& passed, bool create, bool arena) {
  if (passed.size() != (create ? 2u : 3u) + (arena ? 1u : 0u)) return false;
  const int bell_flags = ::fcntl(passed[0].get(), F_GETFL);
  if (bell_flags < 0 || (bell_flags & O_NONBLOCK) == 0) return false;
  if (!is_sealed(passed[1].get(), BellPage::kBytes)) return false;
  pair.peer_bell = std::move(passed[0]);
  pair.peer_bell_page = Mapping(passed[1].get(), BellPage::kBytes);
  if (arena) pair.peer_arena = std::move(passed.back());
  if (!create) {
    if (!is_sealed(passed[2].get(), kPairBytes)) return false;
    pair.memory = Mapping(passed[2].get(), kPairBytes);
    if (pair.memory.at() == nullptr) return false;
    const PairMemory memory(pair.memory.at());
    const PairHeader& header = memory.header();
    if (header.magic != kPairMagic || header.version != kPairVersion) return false;
  }
  return pair.peer_bell_page.at() != nullptr && pair.memory.at() != nullptr;
}

// Both sides go through the same steps whatever fails, so that both come to the same answer.
Status share(ShmPair& pair, bool create, int arena, PassingDeadline deadline) {
  const BellPage& bell = *pair.own_bell;
  Hello hello;
  Fd memory;
  if (create) {
    memory = create_pair();
    if (memory.valid()) pair.memory = Mapping(memory.get(), kPairBytes);
    if (pair.memory.at() != nullptr) new (pair.memory.at()) PairHeader();
  }
  hello.can_share = bell.memory_fd() >= 0 && (!create || pair.memory.at() != nullptr);
  hello.has_arena = arena >= 0;
  std::vector<int> mine;
  if (hello.can_share != 0) {
    mine = {bell.event_fd(), bell.memory_fd()};
    if (create) mine.push_back(memory.get());
    if (arena >= 0) mine.push_back(arena);
  }
  const int socket = pair.socket.get();
  // Must come before the hello is sent: the verdict that answers the hello then proves that this
  // process is the peer.
  pair.process = watch_peer_process(socket);
  if (Status s = pass(socket, bytes_of(hello), mine, deadline); !s.ok()) {
    return s;
  }
  Hello theirs;
  auto passed = take_passed(socket, writable_bytes_of(theirs), 4, deadline);
  if (!passed.ok()) return passed.status();
  if (theirs.magic != kPairMagic) {
    return Status(Code::corrupted, "what the peer passed is no shared memory of unisono");
  }
  if (theirs.version != kPairVersion || theirs.pair_bytes != kPairBytes) {
    return Status(Code::refused, cat("shared memory of version ", theirs.version, " meets version ",
                                     kPairVersion, "; run the same unisono on every rank"));
  }
  Verdict verdict, their_verdict;
  verdict.mapped = hello.can_share != 0 && theirs.can_share != 0 &&
                   map_passed(pair, *passed, create, theirs.has_arena != 0);
  if (Status s = pass(socket, bytes_of(verdict), {}, deadline); !s.ok()) return s;
  auto rest = take_passed(socket, writable_bytes_of(their_verdict), 0, deadline);
  if (!rest.ok()) return rest.status();
  if (verdict.mapped == 0 || their_verdict.magic != kPairMagic || their_verdict.mapped == 0) {
    return Status(Code::unavailable,
                  "the two processes cannot share memory (memfd, seals or mapping refused); "
                  "TCP on the loopback works without");
  }
  return {};
}

}  // namespace

Result<PeerLanes> make_shm_lanes(Fd socket, bool create, const Doorbell& bell, Poller& poller,
                                 std::uint64_t key, std::uint64_t check_seed, Nanos deadline,
                                 int arena) {
  auto pair = std::make_shared<ShmPair>(std::move(socket), poller);
  pair->side = create ? 0 : 1;
  pair->own_bell = bell.page();
  UNISONO_CHECK(bell.ringer().armed == pair->own_bell->flag());
  const auto until = std::chrono::steady_clock::now() + deadline;
  if (Status status = share(*pair, create, arena, until); !status.ok()) return status;
  pair->watch(key);

  const PairMemory memory(pair->memory.at());
  const Ringer ringer{pair->peer_bell.get(), static_cast<BellFlag*>(pair->peer_bell_page.at())};
  const int mine = pair->side, theirs = 1 - pair->side;
  PeerLanes lanes;
  lanes.control = {std::make_unique<ShmStream>(memory.control(theirs), memory.control(mine),
                                               ringer, pair),
                   hash_secret(check_seed, 0, static_cast<unsigned>(mine))};
  lanes.data.push_back({std::make_unique<ShmStream>(memory.data(theirs), memory.data(mine), ringer,
                                                    pair),
                        hash_secret(check_seed, 1, static_cast<unsigned>(mine))});
  lanes.can_fall_silent = true;
  lanes.arena = std::move(pair->peer_arena);
  lanes.bell = ringer;
  lanes.bell_keeper = pair;
  return lanes;
}

}  // namespace unisono::transport
