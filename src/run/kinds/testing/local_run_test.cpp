// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Allreduces of the callers' memory on one host: tensors of all kinds in one bucket against a plain
// sum, and what is left of them when a member stops on the way, with and without keep_inputs.
#include "base/data/text.hpp"
#include "kernels/kernels.hpp"
#include "move/local/testing/local_test_host.hpp"
#include "run/kinds/kinds.hpp"

namespace unisono::run {
namespace {

using move::Bytes;
using move::LocalTestHost;

enum class OutputPlace : std::uint8_t { same, apart, shifted, owned, absent };

struct TensorPlan {
  std::int64_t elements;
  std::size_t offset;                       // of its memory, in bytes past an aligned address
  OutputPlace place;
};

struct BucketPlan {
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::sum;
  double prescale = 1.0, postscale = 1.0;
  const char* codec = "none";
  std::vector<TensorPlan> tensors;
};

// One member's memory and its run.
struct LocalMember {
  std::vector<Bytes> in, out, in_before, out_before;
  std::vector<std::shared_ptr<TicketState>> tickets;
  BufferPool buffers;
  Members members;
  Options options;
  std::uint64_t next_move = 0;
  std::unique_ptr<BucketRun> run;
};

std::size_t bytes_of(const BucketPlan& plan, std::size_t t) {
  return static_cast<std::size_t>(plan.tensors[t].elements) * size_of(plan.dtype);
}

// A shifted output begins in the middle of its own input.
std::byte* output_at(const BucketPlan& plan, LocalMember& m, std::size_t t) {
  const TensorPlan& tensor = plan.tensors[t];
  switch (tensor.place) {
    case OutputPlace::same: return m.in[t].data() + tensor.offset;
    case OutputPlace::shifted:
      return m.in[t].data() + tensor.offset + bytes_of(plan, t) / 2 / size_of(plan.dtype) *
                                                  size_of(plan.dtype);
    case OutputPlace::apart: return m.out[t].data() + tensor.offset;
    default: return nullptr;
  }
}

void begin_run(LocalMember& m, const BucketPlan& plan, LocalTestHost& host, int n, int index,
           const std::vector<std::vector<Bytes>>& values) {
  std::vector<Rank> ranks;
  for (int i = 0; i < n; ++i) ranks.push_back(i);
  m.members = Members::of(ranks, index);
  Response response;
  std::vector<Pending> pendings;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    const TensorPlan& tensor = plan.tensors[t];
    Request request;
    request.name = cat("t", t);
    request.dtype = plan.dtype;
    request.op = plan.op;
    request.shape = {tensor.elements};
    request.prescale = plan.prescale;
    request.postscale = plan.postscale;
    request.codec = plan.codec;
    const std::size_t bytes = bytes_of(plan, t);
    m.in.emplace_back(tensor.offset + 2 * bytes, std::byte(0x11));
    m.out.emplace_back(tensor.offset + bytes, std::byte(0x5a));
    const Bytes& value = values[t][static_cast<std::size_t>(index)];
    std::copy(value.begin(), value.end(), m.in.back().data() + tensor.offset);
    Pending pending;
    pending.request = request;
    // The last member has joined where a tensor is absent.
    if (tensor.place != OutputPlace::absent || index + 1 < n) {
      pending.input = m.in.back().data() + tensor.offset;
      pending.output = tensor.place == OutputPlace::absent ? m.in.back().data() + tensor.offset
                                                     : output_at(plan, m, t);
      pending.ticket = std::make_shared<TicketState>();
    }
    m.tickets.push_back(pending.ticket);
    pendings.push_back(std::move(pending));
    response.tensors.push_back(std::move(request));
  }
  m.in_before = m.in;
  m.out_before = m.out;
  Bucket bucket{.dtype = plan.dtype, .op = plan.op, .responses = {response}};
  for (const Request& request : response.tensors) bucket.bytes += request.bytes();
  bucket.identity = 9;
  RunContext context;
  context.members = &m.members;
  context.team = &host.team(index);
  context.buffers = &m.buffers;
  context.options = &m.options;
  context.next_move = &m.next_move;
  m.run = make_local_run({std::move(bucket), std::move(pendings), context},
                         *encode::find_codec(plan.codec));
  ASSERT_TRUE(m.run->start().ok());
}

// values[tensor][member], and what they come to.
std::vector<std::vector<Bytes>> draw_values(const BucketPlan& plan, int n, Rng& rng) {
  std::vector<std::vector<Bytes>> values;
  for (const TensorPlan& tensor : plan.tensors) {
    std::vector<Bytes> each;
    for (int i = 0; i < n; ++i) {
      each.push_back(
          move::filled(plan.dtype, static_cast<std::size_t>(tensor.elements), rng));
    }
    values.push_back(std::move(each));
  }
  return values;
}

Bytes wanted(const BucketPlan& plan, std::size_t t, std::vector<Bytes> inputs) {
  const auto count = static_cast<std::size_t>(plan.tensors[t].elements);
  if (plan.tensors[t].place == OutputPlace::absent) {
    kernels::reference::fill_neutral(plan.dtype, plan.op, inputs.back().data(), count);
  }
  for (Bytes& input : inputs) {
    kernels::scale(plan.dtype, input.data(), input.data(), plan.prescale, count);
  }
  Bytes sum = move::expected(plan.dtype, plan.op, inputs, count);
  const auto n = static_cast<std::int64_t>(inputs.size());
  kernels::finish(plan.dtype, plan.op == ReduceOp::average ? n : 1, plan.postscale, sum.data(),
                  sum.data(), count);
  return sum;
}

const std::byte* result_of(const BucketPlan& plan, LocalMember& m, std::size_t t) {
  const OutputPlace place = plan.tensors[t].place;
  if (place == OutputPlace::owned) return m.tickets[t]->result.get();
  return place == OutputPlace::absent ? m.in[t].data() + plan.tensors[t].offset
                                      : output_at(plan, m, t);
}

const submit::ReleaseName kKeepName = [](const Request&) {};

std::vector<BucketPlan> bucket_plans() {
  using enum OutputPlace;
  const std::vector<TensorPlan> mixed{{100'003, 0, same},   {7, 4, apart},
                                      {250'001, 8, apart},  {0, 0, same},
                                      {180'000, 16, owned}, {90'001, 24, same}};
  const std::vector<TensorPlan> joined{{70'001, 8, absent}, {300'007, 0, absent}};
  const std::vector<TensorPlan> over{{200'001, 0, shifted}, {50'000, 8, same}};
  std::vector<BucketPlan> all;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32,
                            DType::u8}) {
    all.push_back({.dtype = dtype, .tensors = mixed});
    all.push_back({.dtype = dtype, .op = ReduceOp::max, .tensors = over});
  }
  all.push_back({.op = ReduceOp::average, .tensors = mixed});
  all.push_back({.dtype = DType::i64, .op = ReduceOp::average, .tensors = joined});
  all.push_back({.op = ReduceOp::average, .prescale = 2.0, .postscale = 0.25, .tensors = mixed});
  all.push_back({.dtype = DType::f16, .prescale = 0.5, .postscale = 3.0, .tensors = over});
  all.push_back({.tensors = joined});
  all.push_back({.codec = "fp16", .tensors = mixed});
  all.push_back({.op = ReduceOp::average, .codec = "bf16", .tensors = over});
  all.push_back({.tensors = {{1'500'003, 12, OutputPlace::same}}});
  return all;
}

class LocalRunContract : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Members, LocalRunContract, testing::Values(1, 2, 3, 5));

TEST_P(LocalRunContract, EveryMemberHasTheSameBitsAsAPlainSum) {
  const int n = GetParam();
  for (const bool keep : {false, true}) {
    LocalTestHost host(n, 31);
    int number = 0;
    for (const BucketPlan& plan : bucket_plans()) {
      const auto values = draw_values(plan, n, host.rng());
      std::vector<LocalMember> members(static_cast<std::size_t>(n));
      for (int i = 0; i < n; ++i) {
        // Members need not ask for the same.
        members[static_cast<std::size_t>(i)].options.keep_inputs = keep && i % 2 == 0;
        begin_run(members[static_cast<std::size_t>(i)], plan, host, n, i, values);
      }
      std::vector<bool> ended(members.size(), false);
      for (std::size_t open = members.size(); open > 0;) {
        const std::size_t i = host.rng().below(members.size());
        if (ended[i] || members[i].run->step() != move::Step::finished) continue;
        ended[i] = true;
        --open;
        members[i].run->write_outputs();
        members[i].run->resolve_tickets(kKeepName);
      }
      for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
        // Small whole numbers: exact in all of these types, so that casts change nothing.
        const Bytes want = wanted(plan, t, values[t]);
        for (LocalMember& m : members) {
          if (m.tickets[t] == nullptr || want.empty()) continue;
          ASSERT_TRUE(m.tickets[t]->status.ok());
          ASSERT_EQ(std::memcmp(result_of(plan, m, t), want.data(), want.size()), 0)
              << "plan " << number << " tensor " << t << " keep " << keep;
          if (plan.tensors[t].place == OutputPlace::apart) {
            ASSERT_TRUE(m.in[t] == m.in_before[t]);
          }
        }
      }
      ++number;
    }
  }
}

class LocalRunFailure : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Members, LocalRunFailure, testing::Values(2, 3, 4));

TEST_P(LocalRunFailure, AnOutputIsAsItWasWhereItIsKeptOrSaidToBe) {
  const int n = GetParam();
  using enum OutputPlace;
  const BucketPlan plan{.tensors = {{400'001, 0, same}, {500'003, 4, apart},
                                    {300'000, 0, owned}, {200'001, 8, shifted}}};
  int failed = 0, undefined = 0;
  for (const bool overlaps : {false, true}) {
    BucketPlan used = plan;
    if (!overlaps) used.tensors.pop_back();
    for (int lived = 0; lived < 24; ++lived) {
      LocalTestHost host(n, 500 + static_cast<std::uint64_t>(lived));
      const auto values = draw_values(used, n, host.rng());
      std::vector<LocalMember> members(static_cast<std::size_t>(n));
      for (int i = 0; i < n; ++i) {
        // Keepers beside members that do not care.
        members[static_cast<std::size_t>(i)].options.keep_inputs = (i + lived) % 2 == 0;
        begin_run(members[static_cast<std::size_t>(i)], used, host, n, i, values);
      }
      const std::size_t victim = static_cast<std::size_t>(lived % n);
      std::vector<bool> ended(members.size(), false);
      int steps_left = lived;
      for (int round = 0; round < 2000; ++round) {
        const std::size_t i = host.rng().below(members.size());
        if (ended[i] || (i == victim && steps_left-- <= 0)) continue;
        ended[i] = members[i].run->step() == move::Step::finished;
      }
      for (std::size_t i = 0; i < members.size(); ++i) {
        LocalMember& m = members[i];
        if (i == victim) continue;
        if (ended[i]) {
          m.run->write_outputs();
          m.run->resolve_tickets(kKeepName);
        } else {
          m.run->fail(Status(Code::peer_lost, "rank 9 was lost"), kKeepName);
        }
        for (std::size_t t = 0; t < used.tensors.size(); ++t) {
          const Status& status = m.tickets[t]->status;
          ASSERT_EQ(status.ok(), ended[i]);
          if (status.ok()) continue;
          ++failed;
          const bool said = status.message().find("untouched") != std::string::npos;
          undefined += said ? 0 : 1;
          ASSERT_TRUE(said || !m.options.keep_inputs) << status.message();
          ASSERT_TRUE(said || !overlaps);
          if (!said) continue;
          ASSERT_TRUE(m.in[t] == m.in_before[t]) << "member " << i << " after " << lived;
          ASSERT_TRUE(m.out[t] == m.out_before[t]) << "member " << i << " after " << lived;
        }
      }
    }
  }
  EXPECT_GT(failed, 0);
  EXPECT_GT(undefined, 0);
}

}  // namespace
}  // namespace unisono::run
