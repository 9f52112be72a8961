// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Tensors of the arena, of the caller and of nobody (ranks that have joined) in one operation, and
// every rank writes to its memory the moment its ticket is done. No result may change by that, and
// nobody may write to memory that was handed back. UNISONO_SEEDS says how many operations.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "base/data/rng.hpp"
#include "base/data/text.hpp"
#include "base/testing/effort.hpp"
#include "engine/testing/thread_ranks.hpp"
#include "kernels/kernels.hpp"

namespace unisono::engine {
namespace {

std::uint64_t rounds() {
  if (const char* text = std::getenv("UNISONO_SEEDS")) return std::strtoull(text, nullptr, 10);
  return short_of_time() ? 80 : 800;
}

constexpr std::size_t kLargeBytes = 5'400'000, kSmallBytes = 700'000;
constexpr std::size_t kSlots = 3;

enum class Memory : std::uint8_t { arena, arena_apart, user, user_apart, owned };
enum class Kind : std::uint8_t {
  sum,
  max,
  adasum,
  broadcast,
  allgather,
  reducescatter,
  alltoall,
  persistent
};

// One operation, the same on all ranks.
struct Draw {
  Kind kind = Kind::sum;
  DType dtype = DType::f32;
  std::size_t count = 1;
  int root = 0;
  std::uint64_t salt = 0;
  std::vector<Memory> memory;               // of each rank
};

// A stretch of operations without some of the ranks.
struct Episode {
  std::vector<bool> absent;
  bool at_once = false;                     // all submitted before the first is waited for
  std::vector<Draw> draws;
};

Draw draw_one(int n, bool somebody_absent, std::size_t max_bytes, Rng& rng) {
  constexpr DType kDTypes[] = {DType::f32,  DType::f64, DType::f16,
                               DType::bf16, DType::i32, DType::u8};
  Draw d;
  const std::uint64_t kind = rng.below(somebody_absent ? 8 : 14);
  d.kind = static_cast<Kind>(kind < 7 ? kind % 2 : std::max<std::uint64_t>(kind - 6, 2));
  d.dtype = kDTypes[rng.below(d.kind == Kind::adasum ? 4 : 6)];
  d.root = static_cast<int>(rng.below(static_cast<std::uint64_t>(n)));
  d.salt = rng.below(1000);
  const std::size_t most = max_bytes / size_of(d.dtype);
  // Any magnitude from one element to several chunks.
  const std::size_t scale = std::min<std::size_t>(most, std::size_t{4} << rng.below(20));
  d.count = 1 + rng.below(scale);
  if (d.kind >= Kind::allgather)
    d.count = std::max<std::size_t>(d.count / 8, static_cast<std::size_t>(n));
  // Draws more of the ranks whose tensor is their window.
  for (int i = 0; i < n; ++i) {
    d.memory.push_back(static_cast<Memory>(rng.below(3) == 0 ? 0 : rng.below(5)));
  }
  return d;
}

Episode draw_episode(int n, Rng& rng) {
  Episode e;
  for (int i = 0; i < n; ++i) e.absent.push_back(rng.below(8) == 0);
  e.absent[rng.below(e.absent.size())] = false;
  const bool somebody = std::find(e.absent.begin(), e.absent.end(), true) != e.absent.end();
  e.at_once = rng.below(2) == 0;
  const std::uint64_t many = 1 + rng.below(6);
  for (std::uint64_t k = 0; k < many; ++k) {
    const bool large = k % kSlots == 0 && rng.below(6) == 0;
    e.draws.push_back(draw_one(n, somebody, large ? kLargeBytes : kSmallBytes, rng));
  }
  if (!e.at_once) return e;
  e.draws.resize(std::min(e.draws.size(), kSlots));
  for (Draw& d : e.draws) {                 // a persistent operation runs one at a time
    if (d.kind == Kind::persistent) d.kind = Kind::sum;
  }
  return e;
}

// What rank r brings as element i. Small, so that every dtype adds it up exactly.
float value_of(const Draw& d, int rank, std::size_t i) {
  return static_cast<float>((d.salt + 3 * static_cast<std::uint64_t>(rank) + i % 5) % 11);
}

std::vector<std::byte> as(DType dtype, const std::vector<float>& values) {
  std::vector<std::byte> out(values.size() * size_of(dtype));
  kernels::cast(dtype, out.data(), DType::f32, values.data(), values.size());
  return out;
}

// How many rows a member's share has; what is left over goes to the first members.
std::size_t share_of(std::size_t count, int n, int rank) {
  const auto parts = static_cast<std::size_t>(n);
  return count / parts + (static_cast<std::size_t>(rank) < count % parts ? 1 : 0);
}

std::vector<float> expected(const Draw& d, const std::vector<bool>& absent, int me) {
  const int n = static_cast<int>(absent.size());
  std::vector<float> want;
  const auto reduced = [&](std::size_t i) {
    float sum = 0, most = -1;
    for (int r = 0; r < n; ++r) {
      if (absent[static_cast<std::size_t>(r)]) continue;
      sum += value_of(d, r, i);
      most = std::max(most, value_of(d, r, i));
    }
    return d.kind == Kind::max ? most : sum;
  };
  std::size_t begin = 0;
  for (int r = 0; r < me; ++r) begin += share_of(d.count, n, r);
  switch (d.kind) {
    case Kind::sum:
    case Kind::max:
    case Kind::persistent:
      for (std::size_t i = 0; i < d.count; ++i) want.push_back(reduced(i));
      break;
    case Kind::reducescatter:
      for (std::size_t i = 0; i < share_of(d.count, n, me); ++i) want.push_back(reduced(begin + i));
      break;
    case Kind::adasum:                      // of equal vectors it is that vector
    case Kind::broadcast:
      for (std::size_t i = 0; i < d.count; ++i) want.push_back(value_of(d, d.root, i));
      break;
    case Kind::allgather:
      for (int r = 0; r < n; ++r) {
        for (std::size_t i = 0; i < d.count; ++i) want.push_back(value_of(d, r, i));
      }
      break;
    case Kind::alltoall:
      for (int r = 0; r < n; ++r) {
        const std::size_t rows = d.count / static_cast<std::size_t>(n);
        for (std::size_t i = 0; i < rows; ++i) {
          want.push_back(value_of(d, r, static_cast<std::size_t>(me) * rows + i));
        }
      }
      break;
  }
  return want;
}

constexpr std::byte kScribble{0xC5};

// Memory of one operation at a time, of every kind; between operations it is full of scribbles.
struct Slot {
  Slot(Engine& engine, std::size_t most)
      : blocks{engine.arena().allocate(most).value(), engine.arena().allocate(most).value()},
        user(2, std::vector<std::byte>(most, kScribble)) {
    for (ArenaBlock& block : blocks) std::memset(block.data(), 0xC5, block.size());
  }
  std::byte* at(bool arena, std::size_t which) {
    return arena ? static_cast<std::byte*>(blocks[which].data()) : user[which].data();
  }
  ArenaBlock blocks[2];
  std::vector<std::vector<std::byte>> user;
};

class Player {
 public:
  Player(Engine& engine, std::uint64_t seed) : engine_(engine), rng_(seed) {
    for (std::size_t i = 0; i < kSlots; ++i)
      slots_.emplace_back(engine, i == 0 ? kLargeBytes : kSmallBytes);
  }

  void play(const Episode& episode) {
    const bool somebody =
        std::find(episode.absent.begin(), episode.absent.end(), true) != episode.absent.end();
    if (!episode.absent[static_cast<std::size_t>(engine_.rank())]) {
      std::vector<Flight> flights;
      for (std::size_t k = 0; k < episode.draws.size(); ++k) {
        flights.push_back(take_off(episode.draws[k], k % kSlots));
        if (!episode.at_once) land(flights.back(), episode), flights.clear();
        if (testing::Test::HasFatalFailure()) return;
      }
      rng_.shuffle(flights);                // whichever is waited for first drives the others, too
      for (Flight& flight : flights) land(flight, episode);
    }
    if (somebody && !testing::Test::HasFatalFailure()) {
      const Status joined = engine_.join_ranks().wait();
      ASSERT_TRUE(joined.ok()) << joined.to_string();
    }
  }

 private:
  struct Flight {
    const Draw* draw;
    Ticket ticket;
    std::byte *in, *out;                    // out is null: the engine owns it
    std::size_t bytes;
    Persistent again;
  };

  Flight take_off(const Draw& d, std::size_t slot) {
    const Memory memory = d.memory[static_cast<std::size_t>(engine_.rank())];
    const bool arena = memory <= Memory::arena_apart;
    const bool apart = memory == Memory::arena_apart || memory == Memory::user_apart;
    Flight f{&d, {}, slots_[slot].at(arena, 0), nullptr, d.count * size_of(d.dtype), {}};
    const bool has_output = d.kind <= Kind::broadcast || d.kind == Kind::persistent;
    if (has_output && memory != Memory::owned) f.out = apart ? slots_[slot].at(arena, 1) : f.in;
    if (d.kind == Kind::persistent && f.out == nullptr) f.out = f.in;
    for (std::byte* at : {f.in, f.out == nullptr ? f.in : f.out}) {
      EXPECT_TRUE(std::all_of(at, at + f.bytes, [](std::byte b) { return b == kScribble; }))
          << "somebody wrote to rank " << engine_.rank() << "'s memory after it was handed back";
    }
    std::vector<float> values;
    const int from = d.kind == Kind::adasum ? d.root : engine_.rank();
    for (std::size_t i = 0; i < d.count; ++i) values.push_back(value_of(d, from, i));
    const auto bytes = as(d.dtype, values);
    std::memcpy(f.in, bytes.data(), bytes.size());

    Operation operation{.name = cat("tensor.", slot),
                        .dtype = d.dtype,
                        .shape = {static_cast<std::int64_t>(d.count)},
                        .input = f.in,
                        .output = f.out};
    Settings settings{.op = d.kind == Kind::max ? ReduceOp::max
                            : d.kind == Kind::adasum ? ReduceOp::adasum : ReduceOp::sum,
                      .root = d.root};
    switch (d.kind) {
      case Kind::broadcast: operation.kind = Collective::broadcast; break;
      case Kind::allgather: operation.kind = Collective::allgather; break;
      case Kind::reducescatter: operation.kind = Collective::reducescatter; break;
      case Kind::alltoall: {
        operation.kind = Collective::alltoall;
        const std::size_t n = static_cast<std::size_t>(engine_.size());
        operation.shape = {static_cast<std::int64_t>(d.count / n * n)};
        break;
      }
      default: break;
    }
    if (d.kind == Kind::persistent) {
      // Agreed on once and kept: there is room for 32 of them on a host.
      if (!persistent_) {
        persistent_draw_ = d;
        persistent_at_[0] = f.in, persistent_at_[1] = f.out;
        auto made = engine_.prepare(operation, settings);
        EXPECT_TRUE(made.ok()) << made.status().to_string();
        persistent_ = std::move(made).value();
      } else {
        std::memset(f.in, 0xC5, f.bytes);
        f.draw = &persistent_draw_;
        f.in = persistent_at_[0], f.out = persistent_at_[1];
        f.bytes = persistent_draw_.count * size_of(persistent_draw_.dtype);
        std::vector<float> again;
        for (std::size_t i = 0; i < persistent_draw_.count; ++i) {
          again.push_back(value_of(persistent_draw_, engine_.rank(), i));
        }
        const auto filled = as(persistent_draw_.dtype, again);
        std::memcpy(f.in, filled.data(), filled.size());
      }
      f.ticket = persistent_->start();
    } else {
      f.ticket = engine_.submit(std::move(operation), std::move(settings));
    }
    return f;
  }

  void land(Flight& f, const Episode& episode) {
    const Status status = f.ticket.wait();
    ASSERT_TRUE(status.ok()) << status.to_string();
    const auto want = as(f.draw->dtype, expected(*f.draw, episode.absent, engine_.rank()));
    const std::byte* out = f.out != nullptr ? f.out : f.ticket.output().bytes.data();
    const bool right = std::memcmp(out, want.data(), want.size()) == 0;
    std::fill_n(f.in, f.bytes, kScribble);
    if (f.out != nullptr) std::fill_n(f.out, f.bytes, kScribble);
    ASSERT_TRUE(right) << "kind " << static_cast<int>(f.draw->kind) << " of " << f.draw->count
                       << " " << name_of(f.draw->dtype) << " on rank " << engine_.rank();
  }

  Engine& engine_;
  Rng rng_;
  std::vector<Slot> slots_;
  std::optional<Persistent> persistent_;
  Draw persistent_draw_;
  std::byte* persistent_at_[2] = {};
};

class MixedMemory : public testing::TestWithParam<std::pair<int, const char*>> {};
INSTANTIATE_TEST_SUITE_P(Ranks, MixedMemory,
                         testing::Values(std::pair{2, "auto"}, std::pair{3, "auto"},
                                         std::pair{4, "auto"}, std::pair{5, "auto"},
                                         std::pair{2, "tcp"}, std::pair{3, "tcp"},
                                         std::pair{4, "tcp"}, std::pair{4, "hosts"},
                                         std::pair{6, "hosts"}),
                         [](const auto& row) { return cat(row.param.second, row.param.first); });

TEST_P(MixedMemory, WritesRightAfterCompletionReachNobodysResult) {
  const int n = GetParam().first;
  Options options;
  const bool on_two_hosts = GetParam().second == std::string_view("hosts");
  if (!on_two_hosts) options.transport = GetParam().second;
  if (n == 4) options.teams = 2;
  const std::uint64_t operations = rounds() / 4;
  run_ranks(n, [&](Engine& engine) {
    Rng rng(static_cast<std::uint64_t>(n) * 7919);
    Player player(engine, static_cast<std::uint64_t>(engine.rank()));
    for (std::uint64_t done = 0; done < operations;) {
      const Episode episode = draw_episode(n, rng);
      player.play(episode);
      if (testing::Test::HasFailure()) return;
      done += episode.draws.size();
    }
  }, options, on_two_hosts ? n / 2 : 0);
}

// Tensors of one group whose memory overlaps: every sum is that of what was there before.
class Overlap : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Transports, Overlap, testing::Values("auto", "tcp"));

TEST_P(Overlap, OutputsOnInputsOfTheSameGroupSpoilNoSum) {
  constexpr std::size_t kCount = 200'000;  // travels from and into its own memory
  constexpr std::int64_t kShape = kCount;
  Options options;
  options.transport = GetParam();
  run_ranks(3, [&](Engine& engine) {
    std::vector<float> a(kCount), b(kCount);
    std::iota(a.begin(), a.end(), 0.0f);
    std::fill(b.begin(), b.end(), 5.0f);
    const std::vector<float> was_a = a, was_b = b;
    // Each result lands where the other tensor lies.
    std::vector<Operation> crossed;
    crossed.push_back({.name = "a", .shape = {kShape}, .input = a.data(), .output = b.data()});
    crossed.push_back({.name = "b", .shape = {kShape}, .input = b.data(), .output = a.data()});
    for (const Ticket& ticket : engine.submit_group("g", crossed, {.op = ReduceOp::sum})) {
      ASSERT_TRUE(ticket.wait().ok());
    }
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(b[i], 3 * was_a[i]) << i;
      ASSERT_EQ(a[i], 3 * was_b[i]) << i;
    }
    // The result lies one element beyond the tensor.
    std::vector<float> c(kCount + 1);
    std::iota(c.begin(), c.end(), 0.0f);
    const Operation shifted{
        .name = "c", .shape = {kShape}, .input = c.data(), .output = c.data() + 1};
    ASSERT_TRUE(engine.submit(shifted, {.op = ReduceOp::sum}).wait().ok());
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(c[i + 1], 3 * static_cast<float>(i)) << i;
    }
  }, options);
}

}  // namespace
}  // namespace unisono::engine
