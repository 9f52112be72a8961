// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "processes/remote_shell.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <sstream>

#include "base/data/text.hpp"

namespace unisono::tools {
namespace {

// The remote shell reads the command, so what goes through it is quoted.
std::string shell_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

void add_shell_options(CLI::App& app, ShellSettings& s) {
  app.add_option("-p,--ssh-port", s.ssh_port, "port of sshd")->check(CLI::Range(1, 65535));
  app.add_option("-i,--ssh-identity", s.ssh_identity, "private key file for ssh");
  app.add_option("--ssh-known-hosts", s.ssh_known_hosts, "known_hosts file for ssh");
  app.add_option("--rsh", s.rsh, "called as CMD host command... instead of ssh");
  app.add_option("--remote-unisono", s.remote_unisono, "path of unisono on the other hosts");
}

std::vector<std::string> remote_command(const ShellSettings& settings, const std::string& host,
                                        const std::vector<std::string>& words,
                                        int connect_limit_s) {
  std::vector<std::string> command;
  if (!settings.rsh.empty()) {
    std::istringstream parts(settings.rsh);
    for (std::string part; parts >> part;) command.push_back(part);
    command.insert(command.end(), {host, settings.remote_unisono});
    command.insert(command.end(), words.begin(), words.end());
    return command;
  }
  command = {"ssh", "-T", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"};
  if (connect_limit_s != 0) {
    command.insert(command.end(), {"-o", cat("ConnectTimeout=", connect_limit_s)});
  }
  if (settings.ssh_port != 0) command.insert(command.end(), {"-p", cat(settings.ssh_port)});
  if (!settings.ssh_identity.empty()) {
    command.insert(command.end(), {"-i", settings.ssh_identity, "-o", "IdentitiesOnly=yes"});
  }
  if (!settings.ssh_known_hosts.empty()) {
    command.insert(command.end(), {"-o", cat("UserKnownHostsFile=", settings.ssh_known_hosts)});
  }
  command.insert(command.end(),
                 {host, cat(shell_word(settings.remote_unisono), " ", join_text(words, " "))});
  return command;
}

std::string ssh_arrival() {
  const char* connection = std::getenv("SSH_CONNECTION");
  std::istringstream fields(connection == nullptr ? "" : connection);
  std::string client, client_port, server;
  fields >> client >> client_port >> server;
  return server;
}

}  // namespace unisono::tools
