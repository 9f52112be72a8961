// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Every ticket gets an answer, however the engine ends: shut down while others submit, from inside
// a callback, in a forked child, or out of memory at any point.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <latch>
#include <optional>
#include <thread>

#include "base/data/text.hpp"
#include "base/testing/effort.hpp"
#include "engine/testing/failing_new.hpp"
#include "engine/testing/thread_ranks.hpp"

namespace unisono::engine {
namespace {

using namespace std::chrono_literals;
using Floats = std::vector<float>;

// Long enough that whoever has not answered by then never will.
constexpr auto kNeverAnswers = 60s;

TEST(Ending, EveryTicketOfASubmissionThatRacesWithShutdownIsAnswered) {
  for (int round = 0; round < 300; ++round) {
    ThreadWorld world(1);
    auto engine = Engine::join({}, world, 0);
    ASSERT_TRUE(engine.ok());
    constexpr int kThreads = 2, kEach = 200;
    std::latch start(kThreads + 1);
    std::vector<std::vector<Ticket>> tickets(kThreads);
    std::vector<Floats> data(kThreads, Floats(4, 1.0f));
    std::atomic<int> callbacks{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        start.arrive_and_wait();
        for (int i = 0; i < kEach; ++i) {
          Settings settings;
          if (t == 1) settings.on_done = [&](const Status&) { ++callbacks; };
          tickets[static_cast<std::size_t>(t)].push_back(engine->allreduce<float>(
              cat(t, ".", i), data[static_cast<std::size_t>(t)], std::move(settings)));
        }
      });
    }
    start.arrive_and_wait();
    engine->shutdown();
    for (std::thread& thread : threads) thread.join();
    for (const auto& list : tickets) {
      for (const Ticket& ticket : list) {
        ASSERT_TRUE(ticket.done()) << "round " << round << ": " << ticket.name();
        const Code code = ticket.wait().code();
        EXPECT_TRUE(code == Code::ok || code == Code::shut_down) << ticket.wait().to_string();
      }
    }
    EXPECT_EQ(engine->stats().in_flight, 0u);
  }
}

TEST(Ending, SeveralThreadsMayShutDownTogetherAndAgain) {
  ThreadWorld world(1);
  auto engine = Engine::join({}, world, 0);
  ASSERT_TRUE(engine.ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&] { engine->shutdown(); });
  for (std::thread& thread : threads) thread.join();
  engine->shutdown();
  Floats data(4, 1.0f);
  EXPECT_EQ(engine->allreduce<float>("x", data).wait().code(), Code::shut_down);
}

TEST(Ending, ACallbackMayShutTheEngineDownAndSubmit) {
  run_ranks(2, [](Engine& engine) {
    Floats data(4, 1.0f), more(4, 1.0f), never(4, 1.0f);
    // Waits for the other rank for ever, so that shutting down has something to fail.
    const Ticket stuck = engine.allreduce<float>(cat("stuck.", engine.rank()), never);
    std::atomic<int> inner{-1};
    const Ticket ticket = engine.allreduce<float>("x", data, {.on_done = [&](const Status&) {
      engine.shutdown();
      inner = static_cast<int>(engine.allreduce<float>("y", more).wait().code());
    }});
    EXPECT_TRUE(ticket.wait_for(kNeverAnswers).ok());
    EXPECT_EQ(inner, static_cast<int>(Code::shut_down));
    const Code code = stuck.wait_for(kNeverAnswers).code();
    EXPECT_TRUE(code == Code::shut_down || code == Code::peer_left) << stuck.wait().to_string();
    engine.shutdown();
  });
}

TEST(Ending, ACallbackMayLetGoOfItsEngine) {
  for (int round = 0; round < 20; ++round) {
    ThreadWorld world(1);
    auto joined = Engine::join({}, world, 0);
    ASSERT_TRUE(joined.ok());
    std::optional<Engine> engine(std::move(*joined));
    Floats data(4, 1.0f);
    std::latch let_go(1);
    const Ticket ticket = engine->allreduce<float>("x", data, {.on_done = [&](const Status&) {
      engine.reset();
      let_go.count_down();
    }});
    let_go.wait();
    while (!ticket.done()) std::this_thread::yield();
    EXPECT_TRUE(ticket.wait().ok());
  }
}

TEST(Ending, ACallbackOfAFailingShutdownMaySubmit) {
  // The other rank stays until this one has left: had it left first, the ticket would fail for
  // that reason, and the engine would still take what the callback submits.
  std::latch left(1);
  run_ranks(2, [&left](Engine& engine) {
    if (engine.rank() == 1) {
      left.wait();
      return;
    }
    Floats data(4, 1.0f), more(4, 1.0f);
    std::atomic<int> inner{-1};
    const Ticket ticket = engine.allreduce<float>("only", data, {.on_done = [&](const Status&) {
      inner = static_cast<int>(engine.allreduce<float>("again", more).wait_for(0s).code());
    }});
    engine.shutdown();
    EXPECT_TRUE(ticket.done());
    EXPECT_EQ(ticket.wait().code(), Code::shut_down);
    EXPECT_EQ(inner, static_cast<int>(Code::shut_down));
    left.count_down();
  });
}

TEST(Ending, AForkedChildAnswersNothingAndLeavesTheParentAlone) {
  ThreadWorld world(1);
  auto engine = Engine::join({}, world, 0);
  ASSERT_TRUE(engine.ok());
  Floats data(4, 1.0f);
  std::atomic<int> callbacks{0};
  const pid_t child = ::fork();
  if (child == 0) {
    const Ticket ticket =
        engine->allreduce<float>("x", data, {.on_done = [&](const Status&) { ++callbacks; }});
    const bool refused = ticket.done() && ticket.wait().code() == Code::forked;
    engine->shutdown();
    ::_exit(refused && callbacks == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(engine->allreduce<float>("x", data).wait().ok());
}

// Waits without driving the loop: a caller that drove it would make the allocations that the test
// wants to see fail on the engine's own thread.
bool answered_by_the_engine(const Ticket& ticket) {
  const auto limit = std::chrono::steady_clock::now() + kNeverAnswers;
  while (!ticket.done() && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(100us);
  }
  return ticket.done();
}

// Runs one small job of two ranks in which memory runs out on rank 0 (or on any engine thread).
// Returns whether an allocation failed.
bool job_without_memory(const Options& options, FailingThread who, int after, int count) {
  ThreadWorld world(2);
  std::atomic<bool> struck{false};
  std::latch joined(2), armed(1), done(2);
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      auto engine = Engine::join(options, world, rank);
      if (!engine.ok()) {
        ADD_FAILURE() << engine.status().to_string();
        std::abort();
      }
      // Each has memory of its own: with two teams they are in flight together.
      Floats data(100, 1.0f), large(100'000, 1.0f), told(100, 1.0f);
      const Floats rows(static_cast<std::size_t>(rank) + 1, 1.0f);
      EXPECT_TRUE(engine->barrier().wait().ok());
      joined.arrive_and_wait();
      std::optional<FailingNew> failing;
      if (rank == 0) {
        failing.emplace(who, after, count);
        armed.count_down();
      } else {
        armed.wait();
      }
      std::vector<Ticket> tickets;
      std::atomic<int> callbacks{0};
      int expected = 0;
      const auto submit = [&](auto body) {
        try {
          tickets.push_back(body());
        } catch (const std::bad_alloc&) {
          // Thrown to the caller itself, who has no ticket then.
        }
      };
      submit([&] { return engine->allreduce<float>("small", data); });
      submit([&] { return engine->allreduce<float>("large", large); });
      submit([&] { return engine->allgather<float>("rows", rows); });
      submit([&] {
        Ticket ticket = engine->allreduce<float>(
            "told", told, {.on_done = [&](const Status&) { ++callbacks; }});
        expected += ticket.done() && !ticket.wait().ok() ? 0 : 1;
        return ticket;
      });
      // Whoever has a failed ticket already leaves the others to the end of the engine.
      bool failed = tickets.size() < 4;
      for (const Ticket& ticket : tickets) failed |= ticket.done() && !ticket.wait().ok();
      if (!failed) {
        for (const Ticket& ticket : tickets) {
          const bool answered = who == FailingThread::engine
                                    ? answered_by_the_engine(ticket)
                                    : ticket.wait_for(kNeverAnswers).code() != Code::timed_out;
          if (!answered) {
            ADD_FAILURE() << "no answer for " << ticket.name() << " with allocation " << after;
          }
        }
      }
      if (failing) {
        FailingNew::stop();
        struck = failing->struck();
      }
      engine->shutdown();
      for (const Ticket& ticket : tickets) {
        EXPECT_TRUE(ticket.done()) << ticket.name() << " with allocation " << after;
      }
      done.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return struck;
}

enum class Way { memory, messages, two_teams };
class WithoutMemory : public testing::TestWithParam<std::tuple<Way, FailingThread, int>> {};
INSTANTIATE_TEST_SUITE_P(
    Ending, WithoutMemory,
    testing::Combine(testing::Values(Way::memory, Way::messages, Way::two_teams),
                     testing::Values(FailingThread::caller, FailingThread::engine),
                     testing::Values(1, 5, 1'000'000)));

TEST_P(WithoutMemory, EveryTicketIsAnsweredWhereverItRunsOut) {
  const auto [way, who, count] = GetParam();
  Options options;
  options.log = "off";
  if (way == Way::messages) options.transport = "tcp";
  if (way == Way::two_teams) options.teams = 2;
  // A job under a sanitiser takes ten times as long; make test-long has the time for each of them.
  const int stride = short_of_time() ? 9 : has_time() ? 1 : 3;
  int quiet = 0, strikes = 0;
  for (int after = 0; after < 2000 && quiet < 3; after += stride) {
    const bool struck = job_without_memory(options, who, after, count);
    quiet = struck ? 0 : quiet + 1;
    strikes += struck ? 1 : 0;
    if (HasFailure()) FAIL() << "allocation " << after;
  }
  EXPECT_GT(strikes * stride, 10) << "the job allocates more than that";
}

}  // namespace
}  // namespace unisono::engine
