// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/bootstrap/join.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/data/text.hpp"
#include "rendezvous/handshake/handshake.hpp"
#include "rendezvous/connect/sockets.hpp"

namespace unisono::rendezvous {
namespace {

// One rank, run as a thread, with everything that an engine would own.
struct Member {
  SteadyClock clock;
  Poller poller;
  Doorbell bell;
  Options options;
  LaunchIdentity launched;
  Result<JoinedJob> job{Status(Code::internal, "not run")};
};

struct Job {
  std::vector<std::unique_ptr<Member>> members;
  Fd listener;
  int port = 0;
  explicit Job(int size, const std::string& transport = "auto") {
    listener = std::move(listen_tcp("127.0.0.1", 0)).value();
    port = port_of(listener).value();
    const JobKey key = make_job_key();
    const auto bytes = std::as_bytes(std::span(key));
    for (int r = 0; r < size; ++r) {
      auto member = std::make_unique<Member>();
      member->launched.identity.rank = r;
      member->launched.identity.size = size;
      member->launched.address = cat("127.0.0.1:", port);
      member->launched.key.assign(bytes.begin(), bytes.end());
      if (r == 0) member->launched.listen_fd = listener.get();
      member->options.transport = transport;
      member->options.join_timeout_s = 300;  // a join that ends sooner did not wait for it
      members.push_back(std::move(member));
    }
  }
  Member& at(int rank) { return *members[static_cast<std::size_t>(rank)]; }
  void run() {
    std::vector<std::thread> threads;
    for (auto& member : members) {
      threads.emplace_back([m = member.get()] {
        m->job = join_job(m->options, m->launched, m->clock, m->poller, m->bell);
      });
    }
    for (auto& thread : threads) thread.join();
  }
  void expect_joined(const std::string& transport) {
    for (auto& member : members) {
      ASSERT_TRUE(member->job.ok()) << member->job.status().to_string();
      EXPECT_EQ(member->job->transport->name(), transport);
      EXPECT_EQ(member->job->transport->size(), static_cast<int>(members.size()));
      EXPECT_EQ(member->job->peers.size(), members.size());
      EXPECT_EQ(member->job->identity.local_rank, member->launched.identity.rank);
      EXPECT_EQ(member->job->identity.local_size, static_cast<int>(members.size()));
      EXPECT_EQ(member->job->identity.cross_size, 1);
      EXPECT_EQ(member->job->door != nullptr,
                member->launched.identity.rank == 0 || transport != "shm");
    }
  }
};

// Each rank posts its number to every other and waits for theirs.
class Heard final : public transport::TransportListener {
 public:
  void on_message(Rank from, std::span<const std::byte> message) override {
    if (message.size() == 1 && message[0] == static_cast<std::byte>(from)) ++count;
  }
  void on_lost(Rank, const Status& why) override { lost = why.message(); }
  void on_left(Rank) override {}
  int count = 0;
  std::string lost;
};

void talk(Job& job) {
  std::vector<Heard> heard(job.members.size());
  for (auto& member : job.members) {
    transport::Transport& transport = *member->job->transport;
    const std::byte word = static_cast<std::byte>(transport.rank());
    for (Rank peer = 0; peer < transport.size(); ++peer) {
      if (peer != transport.rank()) transport.post(peer, std::span(&word, 1));
    }
  }
  for (int i = 0; i < 2000; ++i) {
    bool all = true;
    for (std::size_t r = 0; r < heard.size(); ++r) {
      job.members[r]->job->transport->progress(heard[r]);
      all = all && heard[r].count == static_cast<int>(heard.size()) - 1;
    }
    if (all) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (const Heard& one : heard) {
    EXPECT_EQ(one.count, static_cast<int>(heard.size()) - 1) << one.lost;
  }
}

TEST(Join, RanksThatSendMessagesAgreeOnWhatLinksCost) {
  for (const int size : {2, 5}) {
    Job job(size, "tcp");
    job.run();
    job.expect_joined("tcp");
    const cost::Network& first = job.at(0).job->network;
    EXPECT_TRUE(first.usable);
    EXPECT_EQ(first.within, cost::LinkClass::loopback);
    for (auto& member : job.members) {
      const cost::Network& other = member->job->network;
      EXPECT_EQ(other.host_of, std::vector<int>(static_cast<std::size_t>(size), 0));
      EXPECT_EQ(other.costs.reduce_per_byte, first.costs.reduce_per_byte);
      for (std::size_t i = 0; i < cost::kLinkClasses; ++i) {
        EXPECT_EQ(other.costs.links[i].points, first.costs.links[i].points);
      }
    }
    talk(job);
  }
}

TEST(Join, NothingIsMeasuredThatNobodyWouldAskFor) {
  Job memory(3), pinned(2, "tcp"), deterministic(2, "tcp");
  for (auto& member : pinned.members) member->options.algorithm = "ring";
  for (auto& member : deterministic.members) member->options.deterministic = true;
  for (Job* job : {&memory, &pinned, &deterministic}) {
    job->run();
    for (auto& member : job->members) {
      ASSERT_TRUE(member->job.ok()) << member->job.status().to_string();
      EXPECT_FALSE(member->job->network.usable);
      EXPECT_EQ(member->job->transport->stats().data_bytes, 0u);
    }
  }
}

TEST(Join, AloneNeedsNobody) {
  Member member;
  member.launched.identity.host = "here";
  auto job =
      join_job(member.options, member.launched, member.clock, member.poller, member.bell);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->transport->size(), 1);
  EXPECT_EQ(job->door, nullptr);
}

TEST(Join, TwoRanksShareMemory) {
  Job job(2);
  job.run();
  job.expect_joined("shm");
  talk(job);
}

TEST(Join, TwoRanksOverTcp) {
  Job job(2, "tcp");
  job.run();
  job.expect_joined("tcp");
  talk(job);
}

TEST(Join, RanksAgreeHowFramesAreGuarded) {
  Job plain(3, "tcp");
  for (auto& member : plain.members) member->options.integrity = "plain";
  plain.run();
  plain.expect_joined("tcp");
  talk(plain);
  Job mixed(2, "tcp");
  mixed.at(1).options.integrity = "plain";
  mixed.run();
  for (auto& member : mixed.members) {
    ASSERT_FALSE(member->job.ok());
    EXPECT_EQ(member->job.status().message(),
              "option integrity: rank 0 has auth, rank 1 has plain; set the same "
              "UNISONO_INTEGRITY on every rank");
  }
}

TEST(Join, ManySizesOverBothTransports) {
  for (const int size : {3, 4, 7, 16}) {
    for (const char* transport : {"shm", "tcp"}) {
      Job job(size, transport);
      job.run();
      job.expect_joined(transport);
      if (size <= 7) talk(job);
    }
  }
}

TEST(Join, SixtyFourRanks) {
  Job job(64, "tcp");
  job.run();
  job.expect_joined("tcp");
}

TEST(Join, StrangersDuringTheJoinChangeNothing) {
  Job job(4);
  std::vector<Fd> strangers;
  for (int i = 0; i < 12; ++i) {
    Fd fd = std::move(start_tcp({"127.0.0.1", job.port})).value();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const char* text = i % 3 == 0 ? "GET / HTTP/1.0\r\n\r\n" : "UNISONO\n slow";
    if (i % 3 != 2) ::send(fd.get(), text, std::strlen(text), MSG_NOSIGNAL);
    strangers.push_back(std::move(fd));
  }
  job.run();
  job.expect_joined("shm");
  talk(job);
}

TEST(Join, OptionMismatchIsToldToEveryRankAtOnce) {
  Job job(3);
  job.at(1).options.fusion_bytes = 1 << 20;
  job.run();
  for (auto& member : job.members) {
    ASSERT_FALSE(member->job.ok());
    EXPECT_EQ(member->job.status().code(), Code::refused);
    EXPECT_EQ(member->job.status().message(),
              "option fusion_bytes: rank 0 has 67108864, rank 1 has 1048576; set the same "
              "UNISONO_FUSION_BYTES on every rank");
  }
}

TEST(Join, DuplicateRankIsNamed) {
  Job job(3);
  job.at(2).launched.identity.rank = 1;
  job.run();
  for (auto& member : job.members) {
    EXPECT_EQ(member->job.status().code(), Code::refused);
    EXPECT_NE(member->job.status().message().find("two processes claim rank 1"), std::string::npos);
  }
}

TEST(Join, DifferentSizesAreNamed) {
  Job job(2);
  job.at(1).launched.identity.size = 5;
  job.run();
  for (auto& member : job.members) {
    EXPECT_NE(member->job.status().message().find("rank 0 was told the job has 2 ranks"),
              std::string::npos)
        << member->job.status().message();
  }
}

TEST(Join, MissingRankIsNamedToThoseWhoCame) {
  Job job(4);
  for (auto& member : job.members) member->options.join_timeout_s = 3;
  job.members.erase(job.members.begin() + 2);
  job.run();
  for (auto& member : job.members) {
    EXPECT_EQ(member->job.status().code(), Code::timed_out);
    EXPECT_NE(member->job.status().message().find("rank 2 of 4 never came"), std::string::npos)
        << member->job.status().message();
  }
}

TEST(Join, WrongKeyIsRefusedAtOnce) {
  Job job(2);
  job.at(0).options.join_timeout_s = 3;
  job.at(1).launched.key[0] ^= std::byte{1};
  job.run();
  EXPECT_EQ(job.at(1).job.status().code(), Code::refused);
  EXPECT_EQ(job.at(0).job.status().code(), Code::timed_out);
}

TEST(Join, MissingRankZeroTimesOut) {
  Job job(2);
  job.listener.reset();
  job.members.erase(job.members.begin());
  job.at(0).options.join_timeout_s = 0.3;
  job.run();
  EXPECT_EQ(job.at(0).job.status().code(), Code::timed_out);
}

TEST(Join, ForeignLaunchersMeetByTheJobFile) {
  std::string folder = "/tmp/unisono-join-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  ::setenv("UNISONO_JOB_DIR", folder.c_str(), 1);
  for (int again = 0; again < 2; ++again) {
    Job job(3);
    for (auto& member : job.members) {
      member->launched.address.clear();
      member->launched.key.clear();
      member->launched.listen_fd = -1;
      member->launched.job = "torchrun/7";
    }
    job.run();
    job.expect_joined("shm");
  }
  ::unsetenv("UNISONO_JOB_DIR");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove(folder);
}

TEST(Join, SameSocketServesASecondJoin) {
  Job job(2);
  job.run();
  job.expect_joined("shm");
  for (auto& member : job.members) member->job = Status(Code::internal, "again");
  job.run();
  job.expect_joined("shm");
}

}  // namespace
}  // namespace unisono::rendezvous
