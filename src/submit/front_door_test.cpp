// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "submit/front_door.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace unisono::submit {
namespace {

const Members kTwo = Members::of({0, 1}, 0);
float data[8] = {};

Operation tensor(Collective kind, Shape shape = {8}) {
  return {.kind = kind, .name = "t", .shape = std::move(shape), .input = data};
}

// Returns the error message; "" when there is no error.
std::string refusal(const Operation& operation, const Settings& settings = {},
                    const Members* members = &kTwo, const CodecChoice& codecs = {}) {
  const auto request = make_request(operation, settings, members, codecs);
  if (request.ok()) return "";
  EXPECT_NE(request.status().code(), Code::ok);
  return request.status().message();
}

struct Refused {
  const char* words;
  Operation operation;
  Settings settings = {};
};

TEST(FrontDoor, SaysWhatIsWrong) {
  Operation nameless = tensor(Collective::allreduce), long_name = nameless, null = nameless;
  nameless.name.clear();
  long_name.name.assign(5000, 'x');
  null.input = nullptr;
  Operation gather = tensor(Collective::allgather);
  gather.output = data;
  Operation boolean = tensor(Collective::allreduce);
  boolean.dtype = DType::boolean;
  Operation integers = tensor(Collective::allreduce);
  integers.dtype = DType::i32;
  const Refused cases[] = {
      {"the name is empty", nameless},
      {"over 4096 bytes", long_name},
      {"the input is null", null},
      {"unknown", tensor(static_cast<Collective>(200))},
      {"negative somewhere or too large", tensor(Collective::allreduce, {-1})},
      {"negative somewhere or too large", tensor(Collective::allreduce, {INT64_MAX, 2})},
      {"no rows to divide", tensor(Collective::allgather, {})},
      {"read it from the ticket", gather},
      {"unknown operator", tensor(Collective::allreduce), {.op = static_cast<ReduceOp>(99)}},
      {"for booleans and integers", tensor(Collective::allreduce), {.op = ReduceOp::logical_and}},
      {"Adasum is for allreduce only", tensor(Collective::reducescatter), {.op = ReduceOp::adasum}},
      {"Adasum is for float16", integers, {.op = ReduceOp::adasum}},
      {"must be finite", tensor(Collective::allreduce), {.prescale = NAN}},
      {"must be finite", tensor(Collective::allreduce), {.postscale = INFINITY}},
      {"cannot be scaled", boolean, {.op = ReduceOp::max, .prescale = 2}},
      {"is not in the process set", tensor(Collective::broadcast), {.root = 7}},
      {"there is no stage 'morse'", tensor(Collective::allreduce), {.codec = "morse"}},
      {"character 4: there is no stage", tensor(Collective::allreduce), {.codec = "ef|morse"}},
      {"is for float32, float64", integers, {.codec = "qsgd:4"}},
      {"is for sums and averages, not max", tensor(Collective::allreduce),
       {.op = ReduceOp::max, .codec = "ef|topk:512:4"}},
      {"'qsgd:4' is for allreduce only", tensor(Collective::broadcast), {.codec = "qsgd:4"}},
      {"the option teams is 1", tensor(Collective::allreduce), {.team = 2}},
      {"there is no team -1", tensor(Collective::allreduce), {.team = -1}},
      {"does not divide into 2", tensor(Collective::alltoall, {7})},
      {"splits has 1 entries", tensor(Collective::alltoall), {.splits = {8}}},
      {"must not be negative", tensor(Collective::alltoall), {.splits = {9, -1}}},
      {"add up to 7", tensor(Collective::alltoall), {.splits = {3, 4}}},
      {"add up to", tensor(Collective::alltoall), {.splits = {INT64_MAX, INT64_MAX}}},
  };
  for (const Refused& each : cases) {
    EXPECT_NE(refusal(each.operation, each.settings).find(each.words), std::string::npos)
        << each.words << " but: " << refusal(each.operation, each.settings);
  }
}

TEST(FrontDoor, NamesTheProcessSetThatIsNotThere) {
  EXPECT_NE(refusal(tensor(Collective::allreduce), {.process_set = 5}, nullptr)
                .find("there is no process set 5"), std::string::npos);
  const Members others = Members::of({1, 2}, 0);
  EXPECT_NE(refusal(tensor(Collective::allreduce), {}, &others).find("this rank is not in"),
            std::string::npos);
}

TEST(FrontDoor, ARequestCarriesWhatItsKindNeedsAndNoMore) {
  Settings settings{.op = ReduceOp::max, .prescale = 2, .root = 1, .priority = 3};
  settings.codec = "fp16";
  const CodecChoice codecs{.usual = "none"};
  const auto sum = make_request(tensor(Collective::allreduce), settings, &kTwo, codecs);
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(sum.value().op, ReduceOp::max);
  EXPECT_EQ(sum.value().prescale, 2);
  EXPECT_EQ(sum.value().priority, 3);
  EXPECT_EQ(sum.value().codec, "fp16");
  EXPECT_EQ(sum.value().root, 0) << "only a broadcast has a root";

  settings.codec.clear();
  const auto broadcast = make_request(tensor(Collective::broadcast), settings, &kTwo, codecs);
  ASSERT_TRUE(broadcast.ok());
  EXPECT_EQ(broadcast.value().root, 1);
  EXPECT_EQ(broadcast.value().op, ReduceOp::sum) << "a broadcast has no operator to disagree on";
  EXPECT_EQ(broadcast.value().prescale, 1);
}

TEST(FrontDoor, AskingForNoneIsAskingForNothing) {
  const CodecChoice codecs{.usual = "fp16"};
  const auto usual = make_request(tensor(Collective::allreduce), {}, &kTwo, codecs);
  Settings none;
  none.codec = "none";
  const auto plain = make_request(tensor(Collective::allreduce), none, &kTwo, codecs);
  ASSERT_TRUE(usual.ok() && plain.ok());
  EXPECT_EQ(usual.value().codec, "fp16");
  EXPECT_EQ(plain.value().codec, "");
  const auto gathered = make_request(tensor(Collective::allgather), {}, &kTwo, codecs);
  ASSERT_TRUE(gathered.ok()) << "the job's codec is for what can be encoded";
  EXPECT_EQ(gathered.value().codec, "");
}

TEST(FrontDoor, RulesByNameComeAfterTheCallAndBeforeTheJob) {
  CodecChoice codecs{.usual = "qsgd:8"};
  codecs.rules = CodecRules::parse("*.bias=none,conv*=ef|topk:512:4|qsgd:4:1024").value();
  const auto codec = [&](const char* name, Settings settings = {}, DType dtype = DType::f32) {
    Operation operation = tensor(Collective::allreduce);
    operation.name = name;
    operation.dtype = dtype;
    const auto request = make_request(operation, settings, &kTwo, codecs);
    EXPECT_TRUE(request.ok()) << request.status().to_string();
    return request.value().codec;
  };
  EXPECT_EQ(codec("conv1.weight"), "ef|topk:512:4|qsgd:4") << "one text for one codec";
  EXPECT_EQ(codec("conv1.bias"), "");
  EXPECT_EQ(codec("allreduce.conv1.weight"), "ef|topk:512:4|qsgd:4") << "as Python says it";
  EXPECT_EQ(codec("fc"), "qsgd:8");
  EXPECT_EQ(codec("conv1.weight", {.codec = "fp16"}), "fp16");
  // What nobody asked for by itself is left out where it does not suit.
  EXPECT_EQ(codec("conv1.weight", {}, DType::i32), "");
  EXPECT_EQ(codec("fc", {.op = ReduceOp::max}), "");
  EXPECT_EQ(codec("allreduce.noname.7"), "qsgd:8");
  Operation unnamed = tensor(Collective::allreduce);
  unnamed.name = "allreduce.noname.7";
  EXPECT_NE(refusal(unnamed, {.codec = "ef|qsgd:4"}).find("give it one"), std::string::npos);
}

TEST(FrontDoor, PlansMayEncodeOnlyWhatIsAllowedAndNamesNoCodec) {
  const CodecChoice codecs{.planned = "bf16, fp16"};
  const auto allowed = [&](Settings settings, DType dtype = DType::f32,
                           Collective kind = Collective::allreduce) {
    Operation operation = tensor(kind);
    operation.dtype = dtype;
    const auto request = make_request(operation, settings, &kTwo, codecs);
    EXPECT_TRUE(request.ok()) << request.status().to_string();
    return request.value().plan_codecs;
  };
  EXPECT_EQ(allowed({}), "fp16,bf16") << "in one order, so that ranks agree";
  EXPECT_EQ(allowed({.plan_codecs = "bf16"}), "bf16");
  EXPECT_EQ(allowed({.plan_codecs = "none"}), "");
  EXPECT_EQ(allowed({.plan_codecs = "qsgd:4,fp8,qsgd:8,bf16,none,bf16"}), "bf16,fp8:e4m3,qsgd:8,qsgd:4");
  EXPECT_EQ(allowed({.plan_codecs = "qsgd:4,bf16"}, DType::f64), "bf16,qsgd:4");
  EXPECT_EQ(allowed({.codec = "none"}), "") << "who names a codec keeps it";
  EXPECT_EQ(allowed({.codec = "fp16"}), "");
  EXPECT_EQ(allowed({.op = ReduceOp::max}), "");
  EXPECT_EQ(allowed({}, DType::i32), "");
  EXPECT_EQ(allowed({}, DType::f16), "");
  EXPECT_EQ(allowed({}, DType::f32, Collective::allgather), "");
  EXPECT_NE(refusal(tensor(Collective::allreduce), {.plan_codecs = "fp16,morse"}, &kTwo, codecs)
                .find("unknown codec 'morse' in plan_codecs"),
            std::string::npos);
  // What keeps something, or leaves something out, is for who names it.
  for (const char* codec : {"ef|qsgd:4", "topk:512:4", "powersgd:2", "clip:1|qsgd:8"}) {
    EXPECT_NE(refusal(tensor(Collective::allreduce), {.plan_codecs = codec}, &kTwo, codecs)
                  .find("give fp16, bf16, fp8 or qsgd"),
              std::string::npos) << codec;
  }
}

TEST(FrontDoor, OnlyUnevenSplitsAreUneven) {
  const auto even = make_request(tensor(Collective::alltoall), {.splits = {4, 4}}, &kTwo);
  const auto uneven = make_request(tensor(Collective::alltoall), {.splits = {3, 5}}, &kTwo);
  ASSERT_TRUE(even.ok() && uneven.ok());
  EXPECT_FALSE(even.value().uneven);
  EXPECT_TRUE(uneven.value().uneven);
}

TEST(FrontDoor, CallersMaySubmitWhatMovesAndNothingElse) {
  for (const CollectiveTraits& row : kCollectives) {
    Operation operation = tensor(row.kind);
    EXPECT_EQ(check_open_to_callers(operation).ok(), row.moves && !row.sparse) << row.name;
    operation.name = "unisono.x";
    EXPECT_FALSE(check_open_to_callers(operation).ok()) << row.name;
  }
}

}  // namespace
}  // namespace unisono::submit
