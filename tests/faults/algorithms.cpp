// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "algorithms.hpp"

#include <cstring>
#include <memory>
#include <vector>

#include "json_line.hpp"

namespace {

using unisono::Engine;
using unisono::Rank;
using unisono::Status;
using unisono::Ticket;

constexpr std::size_t kMebibyte = 1 << 20;

// Small integers, so that every sum is exact.
float part(std::size_t i, std::int64_t round) {
  return static_cast<float>(static_cast<std::int64_t>(i % 7) + round % 1000);
}
float given(Rank rank, std::size_t i, std::int64_t round) {
  return static_cast<float>(rank) + part(i, round);
}
float summed(int size, std::size_t i, std::int64_t round) {
  return static_cast<float>(size * (size - 1)) / 2 + static_cast<float>(size) * part(i, round);
}

template <typename Expected>
bool all_equal(std::span<const float> data, Expected expected) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] != expected(i)) return false;
  }
  return true;
}

std::span<const float> floats(const unisono::Output& output) {
  return {reinterpret_cast<const float*>(output.bytes.data()), output.bytes.size() / sizeof(float)};
}

// One kind of collective. start() fills and submits; right() and spared() speak of ticket i.
class Kind {
 public:
  explicit Kind(Engine& engine) : engine_(engine) {}
  virtual ~Kind() = default;
  virtual std::vector<Ticket> start(std::int64_t round) = 0;
  virtual bool right(std::size_t i, const Ticket& ticket, std::int64_t round) const = 0;
  virtual bool spared(std::size_t i, std::int64_t round) const = 0;

 protected:
  Engine& engine_;
};

// Tensors that are reduced where they stand.
class InPlace : public Kind {
 public:
  enum class Memory { user, arena };

  InPlace(Engine& engine, std::size_t tensors, std::size_t bytes, Memory memory)
      : Kind(engine), memory_(memory) {
    for (std::size_t i = 0; i < tensors; ++i) {
      if (memory == Memory::arena) {
        blocks_.push_back(engine.arena().allocate(bytes).value());
        data_.push_back(blocks_.back().as<float>());
      } else {
        user_.emplace_back(bytes / sizeof(float));
        data_.emplace_back(user_.back());
      }
    }
  }
  std::vector<Ticket> start(std::int64_t round) override {
    fill(round);
    std::vector<Ticket> tickets;
    for (std::size_t i = 0; i < data_.size(); ++i) {
      tickets.push_back(engine_.allreduce<float>("gradient." + std::to_string(i), data_[i],
                                                 {.op = unisono::ReduceOp::sum}));
    }
    return tickets;
  }
  bool right(std::size_t i, const Ticket&, std::int64_t round) const override {
    return all_equal(data_[i], [&](std::size_t e) { return summed(engine_.size(), e, round); });
  }
  bool spared(std::size_t i, std::int64_t round) const override {
    return memory_ == Memory::arena || right(i, {}, round) ||
           all_equal(data_[i], [&](std::size_t e) { return given(engine_.rank(), e, round); });
  }

 protected:
  void fill(std::int64_t round) {
    for (const std::span<float> data : data_) {
      for (std::size_t e = 0; e < data.size(); ++e) data[e] = given(engine_.rank(), e, round);
    }
  }
  std::vector<std::span<float>> data_;

 private:
  Memory memory_;
  std::vector<std::vector<float>> user_;
  std::vector<unisono::ArenaBlock> blocks_;
};

class Prepared : public InPlace {
 public:
  Prepared(Engine& engine, std::size_t bytes)
      : InPlace(engine, 1, bytes, Memory::user),
        operation_(engine.prepare_allreduce<float>("gradient.0", data_[0],
                                                   {.op = unisono::ReduceOp::sum}).value()) {}
  std::vector<Ticket> start(std::int64_t round) override {
    fill(round);
    return {operation_.start()};
  }

 private:
  unisono::Persistent operation_;
};

class Broadcast : public InPlace {
 public:
  Broadcast(Engine& engine, std::size_t bytes) : InPlace(engine, 1, bytes, Memory::user) {}
  std::vector<Ticket> start(std::int64_t round) override {
    fill(round);
    return {engine_.broadcast<float>("gradient.0", data_[0], root(round))};
  }
  bool right(std::size_t i, const Ticket&, std::int64_t round) const override {
    return all_equal(data_[i], [&](std::size_t e) { return given(root(round), e, round); });
  }

 private:
  Rank root(std::int64_t round) const { return static_cast<Rank>(round % engine_.size()); }
};

// Kinds whose results the engine owns: the input is nobody's to write.
class Owned : public InPlace {
 public:
  Owned(Engine& engine, unisono::Collective kind, std::size_t bytes)
      : InPlace(engine, 1, bytes, Memory::user), kind_(kind) {}
  std::vector<Ticket> start(std::int64_t round) override {
    fill(round);
    const std::span<const float> input = data_[0];
    const unisono::Settings settings{.op = unisono::ReduceOp::sum};
    switch (kind_) {
      case unisono::Collective::allgather: return {engine_.allgather("gradient.0", input, settings)};
      case unisono::Collective::alltoall: return {engine_.alltoall("gradient.0", input, settings)};
      default: return {engine_.reducescatter("gradient.0", input, settings)};
    }
  }
  bool right(std::size_t, const Ticket& ticket, std::int64_t round) const override {
    const unisono::Output output = ticket.output();
    const std::span<const float> got = floats(output);
    const std::size_t count = data_[0].size(), size = static_cast<std::size_t>(engine_.size());
    const std::size_t share = count / size, mine = static_cast<std::size_t>(engine_.rank()) * share;
    switch (kind_) {
      case unisono::Collective::allgather:
        return got.size() == count * size && all_equal(got, [&](std::size_t e) {
                 return given(static_cast<Rank>(e / count), e % count, round);
               });
      case unisono::Collective::alltoall:
        return got.size() == count && all_equal(got, [&](std::size_t e) {
                 return given(static_cast<Rank>(e / share), mine + e % share, round);
               });
      default:
        return got.size() == share && all_equal(got, [&](std::size_t e) {
                 return summed(engine_.size(), mine + e, round);
               });
    }
  }
  bool spared(std::size_t i, std::int64_t round) const override {
    return all_equal(data_[i], [&](std::size_t e) { return given(engine_.rank(), e, round); });
  }

 private:
  unisono::Collective kind_;
};

class Barrier : public Kind {
 public:
  using Kind::Kind;
  std::vector<Ticket> start(std::int64_t) override { return {engine_.barrier()}; }
  bool right(std::size_t, const Ticket&, std::int64_t) const override { return true; }
  bool spared(std::size_t, std::int64_t) const override { return true; }
};

std::unique_ptr<Kind> make_kind(Engine& engine, const std::string& kind) {
  using Memory = InPlace::Memory;
  if (kind == "tiny") return std::make_unique<InPlace>(engine, 1, 8, Memory::user);
  if (kind == "user") return std::make_unique<InPlace>(engine, 1, kMebibyte, Memory::user);
  if (kind == "arena") return std::make_unique<InPlace>(engine, 1, kMebibyte, Memory::arena);
  if (kind == "fused") return std::make_unique<InPlace>(engine, 60, 4096, Memory::user);
  if (kind == "persistent") return std::make_unique<Prepared>(engine, kMebibyte / 4);
  if (kind == "broadcast") return std::make_unique<Broadcast>(engine, kMebibyte);
  if (kind == "barrier") return std::make_unique<Barrier>(engine);
  for (const auto owned : {unisono::Collective::allgather, unisono::Collective::reducescatter,
                           unisono::Collective::alltoall}) {
    if (kind == unisono::name_of(owned)) return std::make_unique<Owned>(engine, owned, kMebibyte / 4);
  }
  return nullptr;
}

}  // namespace

Failed loop_until_failure(Engine& engine, const std::string& name,
                          const std::function<void()>& begins) {
  Failed failed;
  const std::unique_ptr<Kind> kind = make_kind(engine, name);
  if (kind == nullptr) return failed;
  begins();
  for (; failed.status.ok() && failed.wrong == 0; ++failed.round) {
    const std::vector<Ticket> tickets = kind->start(failed.round);
    for (std::size_t i = 0; i < tickets.size(); ++i) {
      const Status status = tickets[i].wait();
      if (status.ok()) {
        failed.wrong += kind->right(i, tickets[i], failed.round) ? 0 : 1;
        continue;
      }
      if (failed.status.ok()) {
        failed.status = status;
        failed.at_ns = monotonic_ns();
      }
      failed.spared &= kind->spared(i, failed.round);
      failed.same &= status.code() == failed.status.code() &&
                     status.culprit().rank == failed.status.culprit().rank;
    }
  }
  return failed;
}
