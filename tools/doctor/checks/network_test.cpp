// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace unisono::tools {
namespace {

const NetInterface kLo{"lo", {"127.0.0.1", "::1"}, 65536, true, true, true};
const NetInterface kEth{"eth0", {"192.0.2.2", "fd00::2", "fe80::1"}, 1500, true, true, false};

const Finding* row(const std::vector<Finding>& rows, const std::string& name) {
  const auto at = std::find_if(rows.begin(), rows.end(),
                               [&](const Finding& each) { return each.check == name; });
  return at == rows.end() ? nullptr : &*at;
}

TEST(DoctorNetwork, EveryInterfaceIsNamedWithItsAddresses) {
  const auto rows = judge_interfaces({kLo, kEth, {"ifb0", {}, 1500, false, false, false}});
  ASSERT_NE(row(rows, "interface eth0"), nullptr);
  EXPECT_EQ(row(rows, "interface eth0")->found, "up, MTU 1500, 192.0.2.2, fd00::2, fe80::1");
  EXPECT_EQ(row(rows, "interface lo")->found, "up, loopback, MTU 65536, 127.0.0.1, ::1");
  EXPECT_EQ(row(rows, "other interfaces")->found, "without an address: ifb0 (down)");
  EXPECT_EQ(row(rows, "network"), nullptr) << "nothing is missing";
}

TEST(DoctorNetwork, OnlyLoopbackIsAWarning) {
  NetInterface unplugged = kEth;
  unplugged.carrier = false;
  for (const auto& rows : {judge_interfaces({kLo}), judge_interfaces({kLo, unplugged})}) {
    ASSERT_NE(row(rows, "network"), nullptr);
    EXPECT_EQ(row(rows, "network")->mark, Mark::warn);
  }
}

TEST(DoctorNetwork, WithoutLoopbackNothingRuns) {
  const auto rows = judge_interfaces({kEth});
  ASSERT_NE(row(rows, "network"), nullptr);
  EXPECT_EQ(row(rows, "network")->mark, Mark::fail);
  EXPECT_EQ(row(rows, "network")->mend, "ip link set dev lo up");
}

TEST(DoctorNetwork, ASmallMtuIsAWarning) {
  NetInterface tunnel = kEth;
  tunnel.mtu = 1200;
  const auto rows = judge_interfaces({kLo, tunnel});
  EXPECT_EQ(row(rows, "interface eth0")->mark, Mark::warn);
  EXPECT_EQ(row(rows, "interface eth0")->mend, "ip link set dev eth0 mtu 1500");
  tunnel.up = false;
  EXPECT_EQ(row(judge_interfaces({kLo, tunnel}), "interface eth0")->mark, Mark::ok)
      << "nobody uses it";
}

TEST(DoctorNetwork, ManyInterfacesWithoutAddressesStayOneRow) {
  std::vector<NetInterface> all{kLo, kEth};
  for (int i = 0; i < 100; ++i) all.push_back({"veth", {}, 1500, true, true, false});
  const auto rows = judge_interfaces(all);
  EXPECT_EQ(rows.size(), 3U);
  EXPECT_NE(rows[2].found.find("and 92 more"), std::string::npos) << rows[2].found;
}

TEST(DoctorNetwork, ANameThatLeadsToLoopbackIsAWarning) {
  EXPECT_EQ(judge_host_name({"vm", {"192.0.2.2"}, "", "192.0.2.2", "eth0"}).mark, Mark::ok);
  EXPECT_EQ(judge_host_name({"vm", {"127.0.1.1", "192.0.2.2"}, "", "", ""}).mark, Mark::ok);
  const Finding debian = judge_host_name({"vm", {"127.0.1.1"}, "", "192.0.2.2", "eth0"});
  EXPECT_EQ(debian.mark, Mark::warn);
  EXPECT_NE(debian.found.find("unisono does not ask for it"), std::string::npos);
  EXPECT_NE(debian.found.find("Gloo"), std::string::npos);
  EXPECT_NE(debian.mend.find("\"192.0.2.2 vm\" into /etc/hosts"), std::string::npos);
  EXPECT_NE(debian.mend.find("GLOO_SOCKET_IFNAME=eth0"), std::string::npos);
}

TEST(DoctorNetwork, ANameThatLeadsNowhereSaysWhy) {
  const Finding finding = judge_host_name({"vm", {}, "Name or service not known", "", ""});
  EXPECT_EQ(finding.mark, Mark::warn);
  EXPECT_NE(finding.found.find("Name or service not known"), std::string::npos);
}

TEST(DoctorNetwork, PortsAreReadFromTheKernelsTexts) {
  EXPECT_EQ(parse_port_range("32768\t60999\n"), (std::pair{32768, 60999}));
  EXPECT_FALSE(parse_port_range("60999 32768"));
  EXPECT_FALSE(parse_port_range("x"));
  EXPECT_FALSE(parse_port_range("1 70000"));
  EXPECT_EQ(parse_ports_in_use("sockets: used 200\nTCP: inuse 5 orphan 1 tw 7 alloc 9 mem 1\n"
                               "UDP: inuse 3 mem 1\n"),
            12);
  EXPECT_EQ(parse_ports_in_use(""), 0);
}

TEST(DoctorNetwork, FewFreePortsAreAWarning) {
  const std::pair range{32768, 60999};
  EXPECT_EQ(judge_ports(range, 10, "").mark, Mark::ok);
  EXPECT_EQ(judge_ports(range, 28'000, "").mark, Mark::warn);
  EXPECT_EQ(judge_ports(std::pair{40000, 40100}, 0, "").mark, Mark::warn);
  EXPECT_EQ(judge_ports(std::nullopt, 0, "").mark, Mark::ok);
  EXPECT_EQ(judge_ports(range, 0, "Address already in use").mark, Mark::fail);
}

}  // namespace
}  // namespace unisono::tools
