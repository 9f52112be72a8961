// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How a command is run on another host: by ssh, which asks nothing and trusts no new host, or by a
// shell that the caller names. Pure, but for ssh_arrival().
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace unisono::tools {

struct ShellSettings {
  std::string rsh, ssh_identity, ssh_known_hosts, remote_unisono;
  int ssh_port = 0;
};

// The options by which people choose them.
void add_shell_options(CLI::App& app, ShellSettings& settings);

// words: the arguments of unisono there; nothing that a shell would change. connect_limit_s 0: as
// long as ssh itself tries.
std::vector<std::string> remote_command(const ShellSettings& settings, const std::string& host,
                                        const std::vector<std::string>& words,
                                        int connect_limit_s = 0);

// The address of this host at which the ssh that started this process arrived; "" without one.
std::string ssh_arrival();

}  // namespace unisono::tools
