// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "processes/remote_shell.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace unisono::tools {
namespace {

using Words = std::vector<std::string>;

TEST(RemoteShell, SshAsksNothingAndTrustsNobodyNew) {
  ShellSettings settings;
  settings.remote_unisono = "/opt/it's/unisono";
  EXPECT_EQ(remote_command(settings, "node1", {"doctor", "--json", "-"}, 5),
            (Words{"ssh", "-T", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o",
                   "ConnectTimeout=5", "node1", "'/opt/it'\\''s/unisono' doctor --json -"}));
}

TEST(RemoteShell, PortKeyAndKnownHostsAreHandedOn) {
  ShellSettings settings;
  settings.remote_unisono = "unisono";
  settings.ssh_port = 2222;
  settings.ssh_identity = "/k";
  settings.ssh_known_hosts = "/h";
  const Words words = remote_command(settings, "node1", {"doctor"});
  const Words expected{"-p",    "2222",
                       "-i",    "/k",
                       "-o",    "IdentitiesOnly=yes",
                       "-o",    "UserKnownHostsFile=/h",
                       "node1", "'unisono' doctor"};
  EXPECT_EQ(Words(words.end() - 10, words.end()), expected);
}

TEST(RemoteShell, AnotherShellGetsTheWordsOneByOne) {
  ShellSettings settings;
  settings.rsh = "sh /tmp/fake.sh";
  settings.remote_unisono = "/bin/unisono";
  EXPECT_EQ(remote_command(settings, "node1", {"doctor", "--serve"}),
            (Words{"sh", "/tmp/fake.sh", "node1", "/bin/unisono", "doctor", "--serve"}));
}

TEST(RemoteShell, WithoutALimitSshTriesAsLongAsItDoes) {
  ShellSettings settings;
  settings.remote_unisono = "unisono";
  EXPECT_EQ(remote_command(settings, "node1", {"__agent"}),
            (Words{"ssh", "-T", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "node1",
                   "'unisono' __agent"}));
}

TEST(RemoteShell, SshSaysWhereItArrived) {
  ::setenv("SSH_CONNECTION", "192.0.2.9 40000 192.0.2.1 22", 1);
  EXPECT_EQ(ssh_arrival(), "192.0.2.1");
  ::setenv("SSH_CONNECTION", "nonsense", 1);
  EXPECT_EQ(ssh_arrival(), "");
  ::unsetenv("SSH_CONNECTION");
  EXPECT_EQ(ssh_arrival(), "");
}

}  // namespace
}  // namespace unisono::tools
