// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/connect/addresses.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace unisono::rendezvous {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<InterfaceAddress> kHost = {
    {"lo", "127.0.0.1", 8, true, true},      {"lo", "::1", 128, true, true},
    {"eth1", "169.254.3.4", 16, true, false}, {"eth0", "10.0.0.1", 24, true, false},
    {"eth0", "fd00::1", 64, true, false},    {"eth0", "fe80::1", 64, true, false},
    {"docker0", "172.17.0.1", 16, true, false}, {"ib0", "192.168.7.1", 24, false, false},
};

std::vector<std::string> published(std::string_view wanted) {
  auto addresses = addresses_to_publish(kHost, wanted);
  return addresses ? *addresses : std::vector<std::string>{addresses.status().message()};
}

std::vector<std::string> tried(const std::vector<std::string>& peer,
                               const std::vector<std::string>& routed = {}) {
  std::vector<HostPort> addresses;
  for (const std::string& host : peer) addresses.push_back({host, 5000});
  const auto order = order_to_try(std::move(addresses), kHost, [&](const std::string& address) {
    return std::ranges::find(routed, address) != routed.end();
  });
  std::vector<std::string> hosts;
  for (const HostPort& each : order) hosts.push_back(each.host);
  return hosts;
}

TEST(Addresses, EverythingOthersMayReachIsPublishedAndNeverLoopback) {
  EXPECT_THAT(published(""), ElementsAre("10.0.0.1", "fd00::1", "172.17.0.1", "169.254.3.4"))
      << "link-local last, what is down and fe80:: not at all";
}

TEST(Addresses, WhatHasNoCarrierComesLast) {
  auto host = kHost;
  host[3].carrier = false;
  const auto addresses = addresses_to_publish(host, "");
  ASSERT_TRUE(addresses.ok());
  EXPECT_THAT(addresses.value(), ElementsAre("fd00::1", "172.17.0.1", "169.254.3.4", "10.0.0.1"));
}

TEST(Addresses, AHostWithLoopbackOnlySaysSo) {
  const auto none = addresses_to_publish({kHost[0], kHost[1], kHost[7]}, "");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(), HasSubstr("ib0 192.168.7.1 (down)"));
  EXPECT_THAT(none.status().message(), HasSubstr("UNISONO_BIND_HOST"));
}

TEST(Addresses, AnInterfaceANetworkAnAddressOrANameCanBeWanted) {
  EXPECT_THAT(published("eth0"), ElementsAre("10.0.0.1", "fd00::1"));
  EXPECT_THAT(published("lo"), ElementsAre("127.0.0.1", "::1")) << "it was named";
  EXPECT_THAT(published("10.0.0.0/8"), ElementsAre("10.0.0.1"));
  EXPECT_THAT(published("fd00::/8"), ElementsAre("fd00::1"));
  EXPECT_THAT(published("0.0.0.0/0"),
              ElementsAre("127.0.0.1", "10.0.0.1", "172.17.0.1", "169.254.3.4"));
  EXPECT_THAT(published("10.9.9.9"), ElementsAre("10.9.9.9"));
  EXPECT_THAT(published("node7.cluster"), ElementsAre("node7.cluster"));
}

TEST(Addresses, WhatIsWantedAndNotThereIsAnErrorThatListsWhatIs) {
  EXPECT_THAT(published("ib0"), ElementsAre(HasSubstr("that interface has no address in use")));
  EXPECT_THAT(published("10.1.0.0/16"), ElementsAre(HasSubstr("is in that network")));
  for (const char* bad : {"10.0.0.0/33", "10.0.0.0/x", "/8", "eth0/8", "fd00::/129"}) {
    EXPECT_THAT(published(bad), ElementsAre(HasSubstr("that is no network"))) << bad;
  }
  EXPECT_THAT(published("ib0"), ElementsAre(HasSubstr("eth0 10.0.0.1")));
}

TEST(Addresses, APeerIsTriedOnASharedNetworkFirstThenWhereARouteLeads) {
  EXPECT_THAT(tried({"192.0.2.9", "198.51.100.1", "10.0.0.2", "fd00::2"}, {"198.51.100.1"}),
              ElementsAre("10.0.0.2", "fd00::2", "198.51.100.1", "192.0.2.9"));
  EXPECT_THAT(tried({"192.168.7.2"}), ElementsAre("192.168.7.2")) << "ib0 is down: not shared";
}

TEST(Addresses, AnAddressThatThisHostHasTooIsNotThePeers) {
  EXPECT_THAT(tried({"172.17.0.1", "10.0.0.2"}), ElementsAre("10.0.0.2"));
  EXPECT_THAT(tried({"172.17.0.1"}), ElementsAre("172.17.0.1")) << "the last resort";
}

TEST(Addresses, ListsReadBackAsTheyWereWritten) {
  const std::vector<HostPort> all = {{"10.0.0.1", 80}, {"fd00::1", 5000}, {"node1", 1}};
  EXPECT_EQ(addresses_text(all), "10.0.0.1:80,[fd00::1]:5000,node1:1");
  const auto read = parse_addresses(addresses_text(all));
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read.value().size(), 3U);
  EXPECT_EQ(read.value()[1].host, "fd00::1");
  EXPECT_EQ(read.value()[1].port, 5000);
  for (const char* bad : {"", ",", "10.0.0.1:80,", "10.0.0.1", "a:1,,b:2", "a:0"}) {
    EXPECT_FALSE(parse_addresses(bad).ok()) << bad;
  }
  std::string many = "a:1";
  for (int i = 0; i < 100; ++i) many += ",a:1";
  EXPECT_FALSE(parse_addresses(many).ok());
}

TEST(Addresses, OneAddressElsewhereIsEnoughToLeaveThisHost) {
  EXPECT_TRUE(all_loopback("127.0.0.1:5"));
  EXPECT_TRUE(all_loopback("localhost:5,[::1]:5"));
  EXPECT_FALSE(all_loopback("127.0.0.1:5,10.0.0.1:5"));
  EXPECT_FALSE(all_loopback("nonsense"));
}

TEST(Addresses, ThisMachineHasAtLeastItsLoopback) {
  const auto here = interface_addresses();
  EXPECT_TRUE(std::ranges::any_of(here, [](const InterfaceAddress& each) {
    return each.loopback && each.up && each.address == "127.0.0.1" && each.prefix_bits == 8;
  }));
}

}  // namespace
}  // namespace unisono::rendezvous
