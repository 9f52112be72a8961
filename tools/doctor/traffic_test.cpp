// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/traffic.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "rendezvous/connect/sockets.hpp"

namespace unisono::tools {
namespace {

// Serves in a thread of its own until the test is over.
class Served {
 public:
  Served() : server_(key_) {
    const Status listens = server_.listen("127.0.0.1");
    EXPECT_TRUE(listens.ok()) << listens.message();
    thread_ = std::thread([this] {
      while (!over_) {
        std::vector<pollfd> fds;
        server_.watch(fds);
        ::poll(fds.data(), fds.size(), 5);
        server_.pump(SteadyClock().now());
      }
    });
  }
  ~Served() {
    over_ = true;
    thread_.join();
  }
  const std::string& address() const { return server_.addresses().front(); }
  const rendezvous::JobKey& key() const { return key_; }

 private:
  rendezvous::JobKey key_ = rendezvous::make_job_key();
  TrafficServer server_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

Time within(int seconds) {
  return SteadyClock().now() + std::chrono::seconds(seconds);
}

TEST(DoctorTraffic, IsMeasuredThroughLoopback) {
  Served served;
  auto reached = reach_servers({served.address()}, served.key(), within(60));
  ASSERT_EQ(reached.size(), 1U);
  ASSERT_EQ(reached[0].trouble, "");
  const auto traffic = measure_traffic(reached[0].socket);
  ASSERT_TRUE(traffic.ok()) << traffic.status().message();
  EXPECT_GT(traffic.value().gb_per_s, 0);
  EXPECT_GT(traffic.value().round_trip_us, 0);
}

TEST(DoctorTraffic, WithoutTheKeyNobodyIsServed) {
  Served served;
  auto reached = reach_servers({served.address()}, rendezvous::make_job_key(), within(60));
  EXPECT_EQ(reached[0].trouble, "somebody else answers there");
  EXPECT_FALSE(reached[0].socket.valid());
}

TEST(DoctorTraffic, EveryAddressIsTriedAndTroubleIsNamed) {
  Served served;
  // A port that nobody listens on: this one is closed again.
  int closed = 0;
  {
    auto listener = rendezvous::listen_tcp("127.0.0.1", 0);
    ASSERT_TRUE(listener.ok());
    closed = rendezvous::port_of(*listener).value();
  }
  auto reached =
      reach_servers({rendezvous::address_text("127.0.0.1", closed), "nonsense", served.address()},
                    served.key(), within(60));
  ASSERT_EQ(reached.size(), 3U);
  EXPECT_EQ(reached[0].trouble, "Connection refused");
  EXPECT_NE(reached[1].trouble, "");
  EXPECT_EQ(reached[2].trouble, "");
}

TEST(DoctorTraffic, WhoeverNeverAnswersIsNotWaitedForLong) {
  auto silent = rendezvous::listen_tcp("127.0.0.1", 0);  // connects, by the kernel, and no more
  ASSERT_TRUE(silent.ok());
  const auto address = rendezvous::address_text("127.0.0.1", rendezvous::port_of(*silent).value());
  auto reached = reach_servers({address}, rendezvous::make_job_key(),
                               SteadyClock().now() + std::chrono::milliseconds(50));
  EXPECT_EQ(reached[0].trouble, "it connects but nobody answers");
}

TEST(DoctorTraffic, TheMedianIsInTheMiddle) {
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({}), 0);
}

}  // namespace
}  // namespace unisono::tools
