// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Codecs in the whole engine: every path produces the bits of a scalar oracle, on every rank.
#include <algorithm>
#include <cstring>

#include "base/data/text.hpp"
#include "base/testing/effort.hpp"
#include "encode/codec.hpp"
#include "engine/testing/thread_ranks.hpp"
#include "kernels/kernels_reference.hpp"

namespace unisono::engine {
namespace {

using Floats = std::vector<float>;
struct Path {
  int ranks;
  std::string transport, codec;
};

Options options_of(const Path& path) {
  Options options;
  options.transport = path.transport;
  return options;
}

float value_of(int rank, std::size_t i, std::size_t salt = 0) {
  return static_cast<float>((i * 7 + static_cast<std::size_t>(rank) * 13 + salt) % 101) / 7.0f -
         6.0f;
}
template <typename T>
std::vector<T> tensor_of(int rank, std::size_t count, std::size_t salt = 0) {
  std::vector<T> data(count);
  for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<T>(value_of(rank, i, salt));
  return data;
}

// Casts, reduces in rank order with one rounding, casts back, divides and scales.
template <typename T>
std::vector<T> oracle(const std::string& codec, ReduceOp op, double prescale, double postscale,
                      const std::vector<std::vector<T>>& given, int ranks) {
  const DType small = codec == "fp16" ? DType::f16 : codec == "bf16" ? DType::bf16 : dtype_of<T>;
  const std::size_t count = given.front().size();
  std::vector<std::vector<std::byte>> wires;
  std::vector<const void*> inputs;
  for (const auto& data : given) {
    std::vector<T> scaled = data;
    for (T& value : scaled) value *= static_cast<T>(prescale);
    auto& wire = wires.emplace_back(count * size_of(small));
    kernels::reference::cast(small, wire.data(), dtype_of<T>, scaled.data(), 0, count);
  }
  for (const auto& wire : wires) inputs.push_back(wire.data());
  std::vector<std::byte> sum(count * size_of(small));
  kernels::reference::reduce_many(small, op, sum.data(), inputs, 0, count);
  std::vector<T> out(count);
  kernels::reference::cast(dtype_of<T>, out.data(), small, sum.data(), 0, count);
  const double factor = op == ReduceOp::average ? postscale / ranks : postscale;
  for (T& value : out) value *= static_cast<T>(factor);
  return out;
}

template <typename T>
std::vector<T> oracle_of_all(const Path& path, ReduceOp op, double prescale, double postscale,
                             std::size_t count, std::size_t salt = 0) {
  std::vector<std::vector<T>> given;
  for (int rank = 0; rank < path.ranks; ++rank) given.push_back(tensor_of<T>(rank, count, salt));
  return oracle<T>(path.codec, op, prescale, postscale, given, path.ranks);
}

class CodecLive : public testing::TestWithParam<Path> {
 protected:
  template <typename Body>
  void run(Body body) const {
    run_ranks(GetParam().ranks, body, options_of(GetParam()));
  }
};

template <typename T>
void expect_all_sizes(Engine& engine, const Path& path) {
  for (const std::size_t count : {0, 1, 40, 5000, 70'001, short_of_time() ? 200'000 : 800'000}) {
    for (const double prescale : {1.0, 0.3}) {
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::average, ReduceOp::max}) {
        if (count > 100'000 && op != ReduceOp::average) continue;
        std::vector<T> data = tensor_of<T>(engine.rank(), count);
        const Status status =
            engine.allreduce<T>("x", data, {.op = op, .prescale = prescale, .postscale = 1.5,
                                            .codec = path.codec}).wait();
        ASSERT_TRUE(status.ok()) << status.to_string();
        const auto expected = oracle_of_all<T>(path, op, prescale, 1.5, count);
        ASSERT_EQ(data, expected)
            << count << " elements, " << name_of(op) << ", prescale " << prescale;
      }
    }
  }
}

TEST_P(CodecLive, EveryRankGetsTheBitsOfTheOracle) {
  run([this](Engine& engine) { expect_all_sizes<float>(engine, GetParam()); });
  if (short_of_time()) return;              // the way is the same
  run([this](Engine& engine) { expect_all_sizes<double>(engine, GetParam()); });
}

TEST_P(CodecLive, FreshOutputsAndTensorsInTheArena) {
  run([this](Engine& engine) {
    const Path& path = GetParam();
    for (const std::size_t count : {std::size_t{300}, std::size_t{short_of_time() ? 100'000u : 600'000u}}) {
      const auto expected = oracle_of_all<float>(path, ReduceOp::sum, 1.0, 1.0, count);
      const Floats mine = tensor_of<float>(engine.rank(), count);
      const Settings settings{.op = ReduceOp::sum, .codec = path.codec};
      const Ticket ticket = engine.submit({.name = "fresh", .shape = {static_cast<int>(count)},
                                           .input = mine.data()}, settings);
      ASSERT_TRUE(ticket.wait().ok());
      ASSERT_EQ(ticket.output().bytes.size(), count * 4);
      EXPECT_EQ(0, std::memcmp(ticket.output().bytes.data(), expected.data(), count * 4));

      const auto block = engine.arena().allocate(count * 4);
      ASSERT_TRUE(block.ok()) << block.status().to_string();
      const auto data = block.value().as<float>();
      std::copy(mine.begin(), mine.end(), data.begin());
      ASSERT_TRUE(engine.allreduce<float>("arena", data, settings).wait().ok());
      EXPECT_EQ(0, std::memcmp(data.data(), expected.data(), count * 4));
      ASSERT_TRUE(engine.barrier().wait().ok());
    }
  });
}

TEST_P(CodecLive, PersistentOperationsAndGroups) {
  run([this](Engine& engine) {
    const Path& path = GetParam();
    const Settings settings{.op = ReduceOp::average, .codec = path.codec};
    Floats data(3000);
    auto persistent = engine.prepare_allreduce<float>("p", data, settings);
    ASSERT_TRUE(persistent.ok()) << persistent.status().to_string();
    for (std::size_t step = 0; step < 5; ++step) {
      const Floats fresh = tensor_of<float>(engine.rank(), 3000, step);
      std::copy(fresh.begin(), fresh.end(), data.begin());
      ASSERT_TRUE(persistent->start().wait().ok());
      EXPECT_EQ(data, oracle_of_all<float>(path, ReduceOp::average, 1.0, 1.0, 3000, step));

      // A group with one tensor that the codec leaves alone.
      Floats a = tensor_of<float>(engine.rank(), 50, step),
             b = tensor_of<float>(engine.rank(), 9, step);
      std::vector<std::int32_t> c(5, 2'000'001);
      std::vector<Operation> group;
      group.push_back({.name = "g.a", .shape = {50}, .input = a.data(), .output = a.data()});
      group.push_back({.name = "g.b", .shape = {9}, .input = b.data(), .output = b.data()});
      group.push_back({.name = "g.c", .dtype = DType::i32, .shape = {5}, .input = c.data(),
                       .output = c.data()});
      for (const Ticket& ticket : engine.submit_group("g", std::move(group), settings)) {
        ASSERT_TRUE(ticket.wait().ok());
      }
      EXPECT_EQ(a, oracle_of_all<float>(path, ReduceOp::average, 1.0, 1.0, 50, step));
      EXPECT_EQ(b, oracle_of_all<float>(path, ReduceOp::average, 1.0, 1.0, 9, step));
      EXPECT_EQ(c, std::vector<std::int32_t>(5, 2'000'001));
    }
  });
}

TEST_P(CodecLive, JoinedRankGivesTheNeutralElement) {
  const Path& path = GetParam();
  run([&](Engine& engine) {
    if (engine.rank() != 0) {
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min}) {
        Floats data = tensor_of<float>(engine.rank(), 20'000);
        ASSERT_TRUE(engine.allreduce<float>(std::string(name_of(op)), data,
                                            {.op = op, .codec = path.codec}).wait().ok());
        std::vector<Floats> given;
        for (int rank = 1; rank < path.ranks; ++rank) {
          given.push_back(tensor_of<float>(rank, 20'000));
        }
        EXPECT_EQ(data, oracle<float>(path.codec, op, 1.0, 1.0, given, path.ranks));
      }
    }
    ASSERT_TRUE(engine.join_ranks().wait().ok());
  });
}

TEST_P(CodecLive, EveryOrderLearnsIt) {
  const Path& path = GetParam();
  for (const char* order : {"coordinator", "tree", "cache", "topo", "auto"}) {
    Options options = options_of(path);
    options.order = order;
    options.codec = path.codec;             // the job's choice, where the calls say nothing
    options.deterministic = order == std::string("cache");
    run_ranks(path.ranks, [&](Engine& engine) {
      for (std::size_t step = 0; step < 12; ++step) {
        std::vector<Floats> data;
        std::vector<Ticket> tickets;
        for (std::size_t k = 0; k < 4; ++k) {
          data.push_back(tensor_of<float>(engine.rank(), 100 * k + 1, step + k));
        }
        for (std::size_t k = 0; k < 4; ++k) {
          tickets.push_back(engine.allreduce<float>(cat("t", k), data[k]));
        }
        for (std::size_t k = 0; k < 4; ++k) {
          ASSERT_TRUE(tickets[k].wait().ok());
          ASSERT_EQ(data[k], oracle_of_all<float>(path, ReduceOp::average, 1.0, 1.0, 100 * k + 1,
                                                  step + k)) << order;
        }
      }
    }, options);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Paths, CodecLive,
    testing::Values(Path{1, "auto", "fp16"}, Path{2, "auto", "fp16"}, Path{4, "auto", "bf16"},
                    Path{2, "tcp", "bf16"}, Path{4, "tcp", "fp16"}, Path{3, "auto", "none"}),
    [](const auto& row) {
      return cat(row.param.codec, "_", row.param.ranks, "_ranks_", row.param.transport);
    });

TEST(Codecs, RanksThatDifferGetAMismatchThatNamesBoth) {
  run_ranks(2, [](Engine& engine) {
    Floats data(8, 1.0f);
    const Settings settings{.codec = engine.rank() == 0 ? "fp16" : "bf16"};
    const Status status = engine.allreduce<float>("x", data, settings).wait();
    EXPECT_EQ(status.code(), Code::mismatch);
    EXPECT_NE(status.message().find("fp16"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("bf16"), std::string::npos) << status.message();
    EXPECT_EQ(data, Floats(8, 1.0f));
    EXPECT_TRUE(engine.allreduce<float>("x", data, {.codec = engine.rank() == 0 ? "" : "none"})
                    .wait().ok()) << "asking for none and for nothing is the same";
  });
}

TEST(Codecs, UnknownOnesAreRefusedAtTheDoorWithAListOfTheKnown) {
  run_ranks(1, [](Engine& engine) {
    Floats data(8, 1.0f);
    const Ticket ticket = engine.allreduce<float>("x", data, {.codec = "zip"});
    EXPECT_TRUE(ticket.done());
    EXPECT_EQ(ticket.wait().code(), Code::invalid_argument);
    EXPECT_NE(ticket.wait().message().find("fp8, fp16, bf16, powersgd, none"), std::string::npos)
        << ticket.wait().message();
    EXPECT_EQ(engine.broadcast<float>("b", data, 0, {.codec = "fp16"}).wait().code(),
              Code::invalid_argument);
  });
}

TEST(Codecs, OptionTableListsWhatTheEngineHas) {
  for (const encode::CodecRow& row : encode::codec_table()) {
    Options options;
    EXPECT_TRUE(options.set("codec", row.name).ok()) << row.name;
  }
}

TEST(Codecs, SixteenBitsHalveTheBytesOnTheWire) {
  Options options;
  options.transport = "tcp";
  run_ranks(2, [](Engine& engine) {
    const auto bytes_for = [&](const char* codec) {
      Floats data(100'000, 1.0f);
      EXPECT_TRUE(engine.allreduce<float>("x", data, {.codec = codec}).wait().ok());
      EXPECT_TRUE(engine.barrier().wait().ok());
      return engine.stats().data_bytes;
    };
    const auto start = engine.stats().data_bytes;
    const auto plain = bytes_for("none") - start;
    const auto small = bytes_for("fp16") - start - plain;
    EXPECT_GE(plain, 400'000u);
    EXPECT_NEAR(static_cast<double>(small), static_cast<double>(plain) / 2, 2000.0);
  }, options);
}

}  // namespace
}  // namespace unisono::engine
