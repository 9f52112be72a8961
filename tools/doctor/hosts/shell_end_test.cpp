// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/hosts/shell_end.hpp"

#include <gtest/gtest.h>

namespace unisono::tools {
namespace {

TEST(DoctorShell, EveryEndHasItsMend) {
  struct Case {
    ShellEnd end;
    const char *found, *mend;
  };
  const Case cases[] = {
      {{true, 255, "Host key verification failed.\r\n", 40}, "host key", "ssh-keyscan -p 7 node1"},
      {{true, 255, "u@node1: Permission denied (publickey).", 40}, "password", "ssh-copy-id -p 7"},
      {{true, 255, "ssh: Could not resolve hostname node1: Name", 40}, "resolve", "/etc/hosts"},
      {{true, 255, "ssh: connect to host node1 port 7: Connection refused", 40},
       "refused",
       "systemctl start ssh"},
      {{true, 255, "banner\nssh: connect to host node1 port 7: Connection timed out", 40},
       "ssh: connect to host node1 port 7: Connection timed out",
       "firewall"},
      {{false, -1, "", 40}, "no answer within 40 s", "firewall"},
      {{true, 127, "cannot run ssh: No such file or directory\n", 40},
       "cannot run ssh",
       "openssh-client"},
      {{true, 127, "sh: 1: /opt/unisono: not found", 40},
       "cannot be run there",
       "--remote-unisono"},
      {{true, 2, "unisono: The following argument was not expected: doctor", 40},
       "another version",
       "install"},
      {{true, 139, "Segmentation fault", 40}, "exit code 139", "run it by hand"},
  };
  ShellSettings settings;
  settings.ssh_port = 7;
  settings.remote_unisono = "/opt/unisono";
  for (const Case& each : cases) {
    const Finding finding = judge_shell_end(settings, "node1", each.end);
    EXPECT_EQ(finding.mark, Mark::fail);
    EXPECT_EQ(finding.host, "node1");
    EXPECT_NE(finding.found.find(each.found), std::string::npos) << finding.found;
    EXPECT_NE(finding.mend.find(each.mend), std::string::npos) << finding.mend;
  }
}

}  // namespace
}  // namespace unisono::tools
