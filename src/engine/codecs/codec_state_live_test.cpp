// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What codecs keep, as callers save and load it: when that is refused, and whose it is.
#include <gtest/gtest.h>

#include <barrier>

#include "engine/testing/thread_ranks.hpp"

namespace unisono::engine {
namespace {

using Floats = std::vector<float>;
const Settings kFeedback{.op = ReduceOp::sum, .codec = "ef|topk:512:1"};

TEST(CodecState, IsNotLoadedOnceAnOperationIsSubmitted) {
  std::barrier together(2);
  run_ranks(2, [&](Engine& engine) {
    const auto state = engine.codec_state().value();
    Floats data(600, 1.0F), plain(600, 1.0F);
    auto prepared = engine.prepare({.name = "p", .shape = {600}, .input = data.data(),
                                    .output = data.data()}, kFeedback);
    ASSERT_TRUE(prepared.ok());
    // Rank 1 comes later: until then nothing of rank 0's moves.
    for (const bool persistent : {false, true}) {
      const auto submit = [&] {
        return persistent ? prepared->start() : engine.allreduce<float>("x", data, kFeedback);
      };
      together.arrive_and_wait();
      if (engine.rank() == 0) {
        const Ticket other = engine.allreduce<float>("plain", plain);
        EXPECT_TRUE(engine.load_codec_state(state).ok()) << "codecs keep nothing of it";
        const Ticket ticket = submit();
        EXPECT_EQ(engine.load_codec_state(state).code(), Code::invalid_argument);
        EXPECT_EQ(engine.load_codec_state(state, {.tensors = {"x"}}).code(),
                  Code::invalid_argument);
        EXPECT_EQ(engine.load_codec_state(state, {.tensors = {"y"}}).ok(), !persistent)
            << "of what is on its way nothing is loaded";
        EXPECT_EQ(engine.take_residual("y").status().code(), Code::invalid_argument);
        together.arrive_and_wait();
        EXPECT_TRUE(ticket.wait().ok() && other.wait().ok());
      } else {
        together.arrive_and_wait();
        const Ticket other = engine.allreduce<float>("plain", plain);
        EXPECT_TRUE(submit().wait().ok() && other.wait().ok());
      }
      EXPECT_TRUE(engine.load_codec_state(state).ok()) << "it is done";
    }
  });
}

TEST(CodecState, OfAProcessSetGoesWithIt) {
  run_ranks(2, [](Engine& engine) {
    Floats data(600, 1.0F);
    ASSERT_TRUE(engine.allreduce<float>("x", data, kFeedback).wait().ok());
    const auto before = engine.codec_state().value();
    for (int round = 0; round < 3; ++round) {
      auto set = engine.add_process_set({0, 1});
      ASSERT_TRUE(set.ok());
      Settings settings = kFeedback;
      settings.process_set = *set;
      ASSERT_TRUE(engine.allreduce<float>("x", data, settings).wait().ok());
      EXPECT_GT(engine.codec_state().value().size(), before.size());
      EXPECT_TRUE(engine.remove_process_set(*set).ok());
      EXPECT_EQ(engine.codec_state().value(), before);
    }
  });
}

// Each has a team, and with it a thread that encodes.
TEST(CodecState, TeamsThatEncodeSideBySideKeepWhatOneTeamKeeps) {
  std::vector<std::vector<std::byte>> states(2);
  std::vector<Floats> results(2);
  for (const int teams : {1, 3}) {
    for (const char* transport : {"auto", "tcp"}) {
      Options options;
      options.teams = teams;
      options.transport = transport;
      options.fusion_bytes = 1;
      run_ranks(2, [&](Engine& engine) {
        std::vector<Floats> data;
        for (int t = 0; t < 12; ++t) {
          data.emplace_back(5000);
          for (std::size_t i = 0; i < 5000; ++i) {
            data.back()[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(t)) % 13) - 6;
          }
        }
        for (int step = 0; step < 5; ++step) {
          std::vector<Ticket> tickets;
          for (std::size_t t = 0; t < data.size(); ++t) {
            const char* codec = t % 3 == 0 ? "ef|topk:512:4|qsgd:4" : t % 3 == 1 ? "ef|qsgd:2"
                                                                               : "ef|powersgd:2";
            Operation operation{.name = "t" + std::to_string(t), .shape = {50, 100},
                                .input = data[t].data(), .output = data[t].data()};
            tickets.push_back(engine.submit(operation, {.codec = codec}));
          }
          EXPECT_EQ(engine.stats().codecs.size(), step == 0 ? engine.stats().codecs.size() : 3U);
          for (const Ticket& ticket : tickets) ASSERT_TRUE(ticket.wait().ok());
        }
        const auto rank = static_cast<std::size_t>(engine.rank());
        const auto state = engine.codec_state().value();
        if (teams == 1 && std::string(transport) == "auto") {
          states[rank] = state;
          results[rank] = data[4];
        }
        EXPECT_EQ(state, states[rank]) << teams << " teams, " << transport;
        EXPECT_EQ(data[4], results[rank]);
      }, options);
    }
  }
}

}  // namespace
}  // namespace unisono::engine
