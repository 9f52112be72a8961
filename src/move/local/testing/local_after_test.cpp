// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A member that has finished writes to its memory at once: random operations over random kinds of
// memory, members far ahead of each other. Nobody may still read or write what was handed back.
#include <algorithm>
#include <utility>

#include "base/testing/effort.hpp"
#include "move/local/testing/local_test_host.hpp"

namespace unisono::move {
namespace {

enum class Memory : std::uint8_t { arena, arena_apart, user, user_apart, fresh, absent };
constexpr int kMemories = 6;

enum class Kind : std::uint8_t {
  allreduce,
  adasum,
  allgather,
  broadcast,
  reducescatter,
  alltoall,
  barrier
};
constexpr int kKinds = 7;

// One operation as all members know it, and what each brings and must find.
struct Operation {
  Kind kind = Kind::allreduce;
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::sum;
  double scale = 1.0;                       // applied before and undone after
  int root = 0;
  std::vector<Memory> memory;
  std::vector<Bytes> inputs, wants;
  Extents counts;                           // bytes of each member's part
  std::vector<std::size_t> matrix;
};

class Block {
 public:
  Block() = default;
  Block(LocalTestHost& host, int member, std::size_t bytes, bool arena)
      : host_(&host), member_(member) {
    if (arena) {
      at_ = host.resident(member, std::max<std::size_t>(bytes, 1));
    } else {
      own_.resize(bytes);
    }
    size_ = bytes;
  }
  std::byte* data() { return at_ != nullptr ? at_ : own_.data(); }
  std::size_t size() const { return size_; }
  bool holds(const Bytes& want) { return std::memcmp(data(), want.data(), want.size()) == 0; }
  void fill(const Bytes& bytes) { std::copy(bytes.begin(), bytes.end(), data()); }
  void scribble(std::byte value) { std::fill_n(data(), size_, value); }
  bool scribbled(std::byte value) {
    return std::all_of(data(), data() + size_, [=](std::byte b) { return b == value; });
  }
  void give_back() {
    if (at_ != nullptr) host_->give_back(member_, std::exchange(at_, nullptr));
    own_ = Bytes();
    size_ = 0;
  }

 private:
  LocalTestHost* host_ = nullptr;
  int member_ = 0;
  std::byte* at_ = nullptr;
  Bytes own_;
  std::size_t size_ = 0;
};

// What a member holds of one operation: its input, and its output where that is another place.
struct Holding {
  Block in, out;
};

bool in_arena(Memory memory) { return memory == Memory::arena || memory == Memory::arena_apart; }
bool in_place(Memory memory) { return memory == Memory::arena || memory == Memory::user; }

std::unique_ptr<LocalCollective> make(const Operation& o, LocalTeam& team, Holding& h,
                                        Memory memory) {
  const std::span<std::byte> in(h.in.data(), h.in.size());
  const std::span<std::byte> out =
      in_place(memory) && h.out.size() == 0 ? in : std::span(h.out.data(), h.out.size());
  LocalReduction work{.dtype = o.dtype, .op = o.op, .prescale = o.scale, .postscale = 1 / o.scale,
                      .items = {}, .bytes = o.inputs[0].size()};
  const bool absent = memory == Memory::absent;
  switch (o.kind) {
    case Kind::allreduce:
    case Kind::adasum:
      work.items.push_back({absent ? nullptr : in.data(), absent ? nullptr : out.data(), 0,
                            work.bytes});
      return o.kind == Kind::adasum ? make_local_adasum(team, std::move(work))
                                    : make_local_allreduce(team, std::move(work));
    case Kind::allgather: return make_local_allgather(team, in, o.counts, out);
    case Kind::broadcast: return make_local_broadcast(team, o.root, in, out);
    case Kind::reducescatter:
      work.items.push_back({in.data(), nullptr, 0, work.bytes});
      return make_local_reducescatter(team, std::move(work), o.counts, out);
    case Kind::alltoall: return make_local_alltoall(team, in, o.matrix, out);
    case Kind::barrier: return make_local_barrier(team);
  }
  return nullptr;
}

Holding hold(LocalTestHost& host, int member, const Operation& o, Memory memory) {
  const auto index = static_cast<std::size_t>(member);
  Holding h;
  if (memory == Memory::absent) return h;
  h.in = Block(host, member, o.inputs[index].size(), in_arena(memory));
  h.in.fill(o.inputs[index]);
  const bool same = in_place(memory) && (o.kind <= Kind::adasum || o.kind == Kind::broadcast);
  if (!same) h.out = Block(host, member, o.wants[index].size(), in_arena(memory));
  return h;
}

void expect_adasum(Operation& o) {
  const int n = static_cast<int>(o.inputs.size());
  LocalTestHost host(n, 1);
  std::vector<Holding> holdings;
  std::vector<std::unique_ptr<LocalCollective>> machines;
  for (int i = 0; i < n; ++i) holdings.push_back(hold(host, i, o, Memory::user));
  for (int i = 0; i < n; ++i) machines.push_back(make(o, host.team(i), holdings[i], Memory::user));
  host.run(std::move(machines));
  for (int i = 0; i < n; ++i)
    o.wants[i].assign(holdings[i].in.data(), holdings[i].in.data() + o.inputs[i].size());
}

Operation draw(int n, Rng& rng) {
  constexpr std::size_t kCounts[] = {1, 7, 33, 1000, 9001, 40'003, 300'001};
  constexpr DType kDTypes[] = {DType::f32, DType::f16, DType::i64, DType::u8};
  Operation o;
  // Half of them are allreduces, the only ones that use a caller's memory as a window.
  o.kind = rng.below(2) == 0 ? Kind::allreduce : static_cast<Kind>(rng.below(kKinds));
  o.dtype = kDTypes[o.kind == Kind::adasum ? rng.below(2) : rng.below(4)];
  o.op = o.kind == Kind::adasum ? ReduceOp::adasum
         : rng.below(3) == 0    ? ReduceOp::max
                                : ReduceOp::sum;
  if (o.op == ReduceOp::sum && o.dtype == DType::f32 && rng.below(4) == 0) o.scale = 2.0;
  o.root = static_cast<int>(rng.below(static_cast<std::uint64_t>(n)));
  std::size_t count = kCounts[rng.below(7)];
  if (o.kind == Kind::allreduce && rng.below(16) == 0) count = 2'200'003 / size_of(o.dtype) * 4;
  const std::size_t element = size_of(o.dtype);
  o.wants.resize(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    // More members than by chance have their tensor as their window.
    auto memory = static_cast<Memory>(rng.below(3) == 0 ? 0 : rng.below(kMemories));
    if (memory == Memory::absent && o.kind > Kind::adasum) memory = Memory::user;
    o.memory.push_back(memory);
    o.inputs.push_back(filled(o.dtype, count, rng));
    if (memory == Memory::absent) {
      kernels::reference::fill_neutral(o.dtype, o.op, o.inputs.back().data(), count);
    }
  }
  if (o.kind == Kind::barrier) o.inputs.assign(static_cast<std::size_t>(n), Bytes());
  const std::size_t share = count / static_cast<std::size_t>(n) * element;
  for (int i = 0; i < n; ++i)
    o.counts.push_back(i == 0 ? count * element - share * static_cast<std::size_t>(n - 1) : share);
  const auto put = [](Bytes& to, const Bytes& from, std::size_t begin, std::size_t bytes) {
    to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(begin),
              from.begin() + static_cast<std::ptrdiff_t>(begin + bytes));
  };
  if (o.kind == Kind::adasum) {
    expect_adasum(o);
  } else if (o.kind == Kind::allreduce || o.kind == Kind::reducescatter) {
    const Bytes sum = expected(o.dtype, o.op, o.inputs, count);
    std::size_t place = 0;
    for (int i = 0; i < n; ++i) {
      if (o.kind == Kind::allreduce) o.wants[i] = sum;
      if (o.kind == Kind::reducescatter) put(o.wants[i], sum, place, o.counts[i]);
      place += o.counts[i];
    }
  } else if (o.kind == Kind::broadcast) {
    o.wants.assign(static_cast<std::size_t>(n), o.inputs[o.root]);
  } else if (o.kind == Kind::allgather) {
    Bytes all;
    for (int i = 0; i < n; ++i)
      o.inputs[i].resize(o.counts[i]), put(all, o.inputs[i], 0, o.counts[i]);
    o.wants.assign(static_cast<std::size_t>(n), all);
  } else if (o.kind == Kind::alltoall) {
    for (int s = 0; s < n; ++s) o.matrix.insert(o.matrix.end(), o.counts.begin(), o.counts.end());
    for (int r = 0; r < n; ++r) {
      for (int s = 0; s < n; ++s) {
        std::size_t from = 0;
        for (int before = 0; before < r; ++before)
          from += o.matrix[static_cast<std::size_t>(s * n + before)];
        put(o.wants[r], o.inputs[s], from, o.matrix[static_cast<std::size_t>(s * n + r)]);
      }
    }
  }
  return o;
}

class AfterCompletion : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Members, AfterCompletion, testing::Values(2, 3, 4, 5));

std::uint64_t seeds() { return short_of_time() ? 2 : 6; }

TEST_P(AfterCompletion, MemoryIsTheCallersAgain) {
  constexpr int kOperations = 14;
  const int n = GetParam();
  for (std::uint64_t seed = 0; seed < seeds(); ++seed) {
    LocalTestHost host(n, 1000 * static_cast<std::uint64_t>(n) + seed, 1, 512u << 20);
    std::vector<Operation> operations;
    for (int k = 0; k < kOperations; ++k) operations.push_back(draw(n, host.rng()));
    std::vector<std::vector<Holding>> holdings(static_cast<std::size_t>(n));
    std::vector<std::unique_ptr<LocalCollective>> machines(static_cast<std::size_t>(n));
    const auto scribble_of = [](int member, std::size_t k) {
      return std::byte(0xA0 + 16 * (k % 4) + static_cast<std::size_t>(member));
    };
    const auto start = [&](std::size_t i) {
      const Operation& o = operations[holdings[i].size()];
      holdings[i].push_back(hold(host, static_cast<int>(i), o, o.memory[i]));
      machines[i] = make(o, host.team(static_cast<int>(i)), holdings[i].back(), o.memory[i]);
    };
    for (std::size_t i = 0; i < machines.size(); ++i) start(i);
    const auto body = [&](std::size_t i) {
      const std::size_t k = holdings[i].size() - 1;
      Holding& h = holdings[i].back();
      const Operation& o = operations[k];
      if (o.memory[i] != Memory::absent) {
        Block& result = h.out.size() > 0 ? h.out : h.in;
        ASSERT_TRUE(result.holds(o.wants[i]))
            << "seed " << seed << " operation " << k << " member " << i << " kind " << int(o.kind);
        h.in.scribble(scribble_of(static_cast<int>(i), k));
        h.out.scribble(scribble_of(static_cast<int>(i), k));
      }
      if (k + 1 < operations.size()) start(i);
    };
    host.run_all(machines, body);
    if (HasFatalFailure()) return;
    for (std::size_t i = 0; i < holdings.size(); ++i) {
      for (std::size_t k = 0; k < holdings[i].size(); ++k) {
        Holding& h = holdings[i][k];
        ASSERT_TRUE(h.in.scribbled(scribble_of(static_cast<int>(i), k))) << seed << " " << k;
        ASSERT_TRUE(h.out.scribbled(scribble_of(static_cast<int>(i), k))) << seed << " " << k;
        h.in.give_back();
        h.out.give_back();
      }
    }
  }
}

}  // namespace
}  // namespace unisono::move
