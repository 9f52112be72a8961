// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/hosts/shell_end.hpp"

#include <string_view>
#include <utility>

#include "base/data/text.hpp"
#include "doctor/hosts/remote_report.hpp"
#include "model/options/option_values.hpp"

namespace unisono::tools {
namespace {

// The last line is the reason; those before it are banners.
std::string reason_in(const std::string& err) {
  const std::string_view text = trim(err);
  return printable(text.substr(text.rfind('\n') + 1), 200);
}

}  // namespace

Finding judge_shell_end(const ShellSettings& settings, const std::string& host,
                        const ShellEnd& end) {
  const std::string port = settings.ssh_port == 0 ? "" : cat(" -p ", settings.ssh_port);
  const auto row = [&](std::string found, std::string mend) {
    Finding finding = lacking("reach", std::move(found), std::move(mend));
    finding.host = host;
    return finding;
  };
  const auto says = [&](std::string_view words) {
    return end.err.find(words) != std::string::npos;
  };
  if (says("Host key verification failed")) {
    return row(
        "ssh does not know its host key",
        cat("compare what ssh-keyscan", port, " ", host,
            " 2>/dev/null | ssh-keygen -lf - prints with the fingerprint shown there, then "
            "ssh-keyscan",
            port, " ", host, " >> ",
            settings.ssh_known_hosts.empty() ? "~/.ssh/known_hosts" : settings.ssh_known_hosts));
  }
  if (says("Permission denied")) {
    return row("ssh may not log in without a password",
               cat("ssh-copy-id", port, " ", host, ", or give --ssh-identity"));
  }
  if (says("Could not resolve hostname")) {
    return row(reason_in(end.err), cat("correct the name, or add ", host, " to /etc/hosts"));
  }
  if (says("Connection refused")) {
    return row(reason_in(end.err), "start sshd there (systemctl start ssh), or give --ssh-port");
  }
  if (!end.in_time || says("timed out") || says("No route to host")) {
    return row(
        end.in_time ? reason_in(end.err) : cat("no answer within ", end.waited_s, " s"),
        cat("see whether it is on and a firewall lets ssh pass: ssh", port, " ", host, " true"));
  }
  if (end.exit_code == 127 && says("cannot run ")) {
    return row(reason_in(end.err), "install openssh-client here, or give --rsh");
  }
  if (end.exit_code == 126 || end.exit_code == 127) {
    return row(cat(settings.remote_unisono, " cannot be run there"),
               "install unisono there, or give its path with --remote-unisono");
  }
  if (end.exit_code == 2) {
    return row("unisono there knows no doctor: it is another version",
               cat("install ", UNISONO_VERSION_TEXT, " there, or give --remote-unisono"));
  }
  const std::string reason = reason_in(end.err);
  return row(cat("its doctor gave no answer (exit code ", end.exit_code, ")",
                 reason.empty() ? "" : cat(": ", reason)),
             cat("run it by hand: ssh", port, " ", host, " ", settings.remote_unisono, " doctor"));
}

}  // namespace unisono::tools
