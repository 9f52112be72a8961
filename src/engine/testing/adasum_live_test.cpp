// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Adasum in the whole engine, against its definition in double precision.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

#include "base/data/text.hpp"
#include "base/testing/effort.hpp"
#include "engine/testing/thread_ranks.hpp"
#include "kernels/kernels.hpp"
#include "move/adasum/testing/adasum_oracle.hpp"

namespace unisono::engine {
namespace {

using Vector = std::vector<double>;
using Bytes = std::vector<std::byte>;
struct Way {
  int ranks;
  std::string transport;
};

Bytes as(DType dtype, const Vector& values) {
  Bytes out(values.size() * size_of(dtype));
  kernels::cast(dtype, out.data(), DType::f64, values.data(), values.size());
  return out;
}
Vector back(DType dtype, const Bytes& bytes) {
  Vector out(bytes.size() / size_of(dtype));
  kernels::cast(DType::f64, out.data(), dtype, bytes.data(), out.size());
  return out;
}

// What a rank contributes, as the dtype can hold it.
Vector given_by(int rank, std::size_t count, DType dtype, std::size_t salt = 0) {
  Vector out(count);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] =
        static_cast<double>((i * 7 + static_cast<std::size_t>(rank) * 31 + salt) % 97) / 31 - 1.2;
  }
  return back(dtype, as(dtype, out));
}
std::vector<Vector> given_by_all(int ranks, std::size_t count, DType dtype, std::size_t salt = 0) {
  std::vector<Vector> out;
  for (int rank = 0; rank < ranks; ++rank) out.push_back(given_by(rank, count, dtype, salt));
  return out;
}

double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return 1e-12;
    case DType::f32: return 1e-6;
    case DType::f16: return 2e-3;
    default: return 1.6e-2;
  }
}
void expect_near(const Vector& got, const Vector& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], wanted[i], tolerance * std::max(1.0, std::abs(wanted[i]))) << i;
  }
}

Operation operation_on(const std::string& name, DType dtype, Bytes& data) {
  return {.name = name, .dtype = dtype,
          .shape = {static_cast<std::int64_t>(data.size() / size_of(dtype))}, .input = data.data(),
          .output = data.data()};
}

// Results by what was asked, to compare ranks and ways with each other.
class Notes {
 public:
  void same(const std::string& what, const Bytes& bits) {
    std::lock_guard lock(mutex_);
    const auto [it, fresh] = seen_.emplace(what, bits);
    EXPECT_TRUE(fresh || it->second == bits) << what << ": bits differ";
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Bytes> seen_;
};

Options options_of(const std::string& transport) {
  Options options;
  options.transport = transport;
  return options;
}

void run_all_dtypes(Engine& engine, Notes& notes) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const std::size_t count : {0, 1, 3, 257, short_of_time() ? 4001 : 40'001}) {
      Bytes data = as(dtype, given_by(engine.rank(), count, dtype));
      const Status status =
          engine.submit(operation_on("x", dtype, data), {.op = ReduceOp::adasum}).wait();
      ASSERT_TRUE(status.ok()) << status.to_string();
      notes.same(cat(name_of(dtype), " ", count), data);
      const Vector wanted = move::adasum_oracle(given_by_all(engine.size(), count, dtype));
      expect_near(back(dtype, data), wanted, tolerance_of(dtype));
    }
  }
}

class AdasumLive : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, AdasumLive, testing::Values(1, 2, 3, 4, 5, 8));

TEST_P(AdasumLive, FollowsItsDefinitionWithTheSameBitsOnEveryRankAndTransport) {
  Notes notes;
  for (const char* transport : {"auto", "tcp"}) {
    run_ranks(GetParam(), [&](Engine& engine) { run_all_dtypes(engine, notes); },
              options_of(transport));
  }
}

TEST_P(AdasumLive, IsTheSameAloneAndFusedWithOthers) {
  Notes notes;
  for (const char* transport : {"auto", "tcp"}) {
    for (const char* planner : {"single", "wfbp"}) {
      Options options = options_of(transport);
      options.planner = planner;
      run_ranks(GetParam(), [&](Engine& engine) {
        const std::vector<std::size_t> counts = {5, 0, 1000, 1, 20'003};
        std::vector<Bytes> data;
        std::vector<Operation> group;
        for (const std::size_t count : counts) {
          data.push_back(as(DType::f32, given_by(engine.rank(), count, DType::f32, count)));
        }
        for (std::size_t i = 0; i < counts.size(); ++i) {
          group.push_back(operation_on(cat("t", i), DType::f32, data[i]));
        }
        const Settings settings{.op = ReduceOp::adasum, .prescale = 0.5, .postscale = 4.0};
        for (const Ticket& ticket :
             engine.submit_group(planner[0] == 's' ? "g" : "", group, settings)) {
          ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().to_string();
        }
        for (std::size_t i = 0; i < counts.size(); ++i) {
          notes.same(cat("t", i), data[i]);
          Vector wanted = move::adasum_oracle(
              given_by_all(engine.size(), counts[i], DType::f32, counts[i]));
          for (double& value : wanted) value *= 2.0;
          expect_near(back(DType::f32, data[i]), wanted, 1e-6);
        }
      }, options);
    }
  }
}

class AdasumWays : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(All, AdasumWays,
                         testing::Values(Way{2, "auto"}, Way{3, "tcp"}, Way{4, "auto"}),
                         [](const auto& row) {
                           return cat(row.param.ranks, "_ranks_", row.param.transport);
                         });

TEST_P(AdasumWays, EqualVectorsStayOrthogonalOnesAddUpZerosChangeNothing) {
  run_ranks(
      GetParam().ranks,
      [](Engine& engine) {
        const auto n = static_cast<std::size_t>(engine.size()),
                   me = static_cast<std::size_t>(engine.rank());
        const Settings settings{.op = ReduceOp::adasum};
        std::vector<float> equal(100, 1.5f), axis(n, 0.0f), mostly_zero(9, me == 1 ? 2.5f : 0.0f);
        axis[me] = 3.0f;
        ASSERT_TRUE(engine.allreduce<float>("equal", equal, settings).wait().ok());
        ASSERT_TRUE(engine.allreduce<float>("axis", axis, settings).wait().ok());
        ASSERT_TRUE(engine.allreduce<float>("zero", mostly_zero, settings).wait().ok());
        for (const float value : equal) EXPECT_FLOAT_EQ(value, 1.5f);
        EXPECT_EQ(axis, std::vector<float>(n, 3.0f));
        EXPECT_EQ(mostly_zero, std::vector<float>(9, 2.5f));
      },
      options_of(GetParam().transport));
}

TEST_P(AdasumWays, JoinedRanksGiveZero) {
  run_ranks(GetParam().ranks, [](Engine& engine) {
    if (engine.rank() != 0) {
      Bytes data = as(DType::f64, given_by(engine.rank(), 500, DType::f64));
      ASSERT_TRUE(engine.submit(operation_on("x", DType::f64, data), {.op = ReduceOp::adasum})
                      .wait().ok());
      auto given = given_by_all(engine.size(), 500, DType::f64);
      given[0].assign(500, 0.0);
      expect_near(back(DType::f64, data), move::adasum_oracle(given), 1e-12);
    }
    ASSERT_TRUE(engine.join_ranks().wait().ok());
  }, options_of(GetParam().transport));
}

TEST_P(AdasumWays, EveryOrderCachesItAndACodecGoesWithIt) {
  for (const char* order : {"coordinator", "cache", "topo", "auto"}) {
    Options options = options_of(GetParam().transport);
    options.order = order;
    run_ranks(GetParam().ranks, [](Engine& engine) {
      for (std::size_t step = 0; step < 12; ++step) {
        Bytes plain = as(DType::f32, given_by(engine.rank(), 700, DType::f16, step)), small = plain;
        std::vector<float> sum(40, 1.0f);
        const Ticket a =
            engine.submit(operation_on("a", DType::f32, plain), {.op = ReduceOp::adasum});
        const Ticket b = engine.submit(operation_on("b", DType::f32, small),
                                       {.op = ReduceOp::adasum, .codec = "fp16"});
        const Ticket c = engine.allreduce<float>("c", sum, {.op = ReduceOp::sum});
        ASSERT_TRUE(a.wait().ok() && b.wait().ok() && c.wait().ok());
        const Vector wanted =
            move::adasum_oracle(given_by_all(engine.size(), 700, DType::f16, step));
        expect_near(back(DType::f32, plain), wanted, 1e-6);
        expect_near(back(DType::f32, small), wanted, 2e-3);
        EXPECT_EQ(sum[39], static_cast<float>(engine.size()));
      }
    }, options);
  }
}

TEST_P(AdasumWays, PersistentAndFreshOutputs) {
  run_ranks(GetParam().ranks, [](Engine& engine) {
    const Settings settings{.op = ReduceOp::adasum};
    std::vector<double> data(3000);
    auto persistent = engine.prepare_allreduce<double>("p", data, settings);
    ASSERT_TRUE(persistent.ok()) << persistent.status().to_string();
    for (std::size_t step = 0; step < 4; ++step) {
      const Vector mine = given_by(engine.rank(), 3000, DType::f64, step);
      std::copy(mine.begin(), mine.end(), data.begin());
      ASSERT_TRUE(persistent->start().wait().ok());
      const Vector wanted =
          move::adasum_oracle(given_by_all(engine.size(), 3000, DType::f64, step));
      expect_near(data, wanted, 1e-12);
      const Ticket fresh = engine.submit({.name = "f", .dtype = DType::f64, .shape = {3000},
                                          .input = mine.data()}, settings);
      ASSERT_TRUE(fresh.wait().ok());
      EXPECT_EQ(0, std::memcmp(fresh.output().bytes.data(), data.data(), 3000 * sizeof(double)));
    }
  }, options_of(GetParam().transport));
}

TEST(Adasum, IsRefusedWhereItHasNoMeaning) {
  run_ranks(1, [](Engine& engine) {
    std::vector<float> data(4);
    std::vector<std::int32_t> integers(4);
    const Settings settings{.op = ReduceOp::adasum};
    const Status scatter = engine.reducescatter<float>("r", data, settings).wait();
    EXPECT_EQ(scatter.code(), Code::mismatch);
    EXPECT_FALSE(scatter.retryable());
    EXPECT_NE(scatter.message().find("Adasum is for allreduce only"), std::string::npos);
    EXPECT_EQ(engine.allreduce<std::int32_t>("i", integers, settings).wait().code(),
              Code::invalid_argument);
  });
}

TEST(Adasum, ALeaverInTheMiddleLeavesTensorsUntouched) {
  run_ranks(3, [](Engine& engine) {
    ASSERT_TRUE(engine.barrier().wait().ok());
    if (engine.rank() == 1) return engine.shutdown();
    std::vector<float> data(5000, 2.0f);
    const Status status =
        engine.allreduce<float>("needs all", data, {.op = ReduceOp::adasum}).wait();
    EXPECT_EQ(status.code(), Code::peer_left) << status.to_string();
    EXPECT_EQ(data, std::vector<float>(5000, 2.0f));
  });
}

}  // namespace
}  // namespace unisono::engine
