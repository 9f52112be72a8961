// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/stage.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

#include "base/data/text.hpp"
#include "processes/capture.hpp"
#include "processes/interrupt.hpp"
#include "bench/limit.hpp"

namespace unisono::tools {
namespace {

// Importing a framework from a cold disk takes long.
constexpr double kStartLimit_s = 180;

class Doors {
 public:
  static Result<Doors> open() {
    std::string name = cat("unisono-bench-", ::getpid());
    auto listener = listen_abstract(name);
    if (!listener) return listener.status();
    return Doors(std::move(name), std::move(*listener));
  }

  Result<std::unique_ptr<Group>> admit(Launch launch, int id, int ranks) {
    auto group = std::make_unique<Group>(std::move(launch), id, ranks);
    if (Status bad = group->start(name_); !bad.ok()) return bad;
    const auto start = std::chrono::steady_clock::now();
    while (!group->complete()) {
      if (interrupted() != 0) return Status(Code::shut_down, "interrupted");
      pollfd watch{listener_.get(), POLLIN, 0};
      if (::poll(&watch, 1, 50) > 0) {
        greet(*group, id);
      } else if (group->died()) {
        return Status(Code::unavailable, cat("ended at once\n", group->last_words()));
      } else if (std::chrono::steady_clock::now() - start >
                 std::chrono::duration<double>(kStartLimit_s)) {
        return Status(Code::unavailable,
                      cat("not ready after ", kStartLimit_s, " s\n", group->last_words()));
      }
    }
    return group;
  }

 private:
  Doors(std::string name, Fd listener) : name_(std::move(name)), listener_(std::move(listener)) {}

  void greet(Group& group, int id) {
    Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ucred who{};
    socklen_t length = sizeof who;
    // Any user of the machine can reach an abstract name.
    if (!fd.valid() || ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &who, &length) != 0 ||
        who.uid != ::geteuid()) {
      return;
    }
    LineChannel channel(std::move(fd));
    auto hello = channel.receive(10);
    if (!hello) return;
    try {
      if (hello->at("group") != id) return;
      group.attach(hello->at("rank").get<int>(), std::move(channel),
                   hello->value("version", ""));
    } catch (const nlohmann::json::exception&) {
      // Whoever greets in other words is none of ours.
    }
  }

  std::string name_;
  Fd listener_;
};

Launch launch_of_ours(const BenchSettings& settings, const std::string& impl,
                      const std::string& mode, const std::string& algorithm) {
  const std::string self = own_path();
  return {{impl, algorithm, settings.transport},
          {{{self, "run", "-np", std::to_string(settings.ranks), "--transport", settings.transport,
             "--set", cat("algorithm=", algorithm), self, "__bench-worker", mode},
            {}}}};
}

std::vector<Launch> ours(const BenchSettings& settings) {
  std::vector<Launch> list;
  for (const std::string& algorithm : settings.algorithms) {
    list.push_back(launch_of_ours(settings, "unisono", "named", algorithm));
  }
  if (settings.arena) list.push_back(launch_of_ours(settings, "unisono-arena", "arena", "auto"));
  if (settings.persistent) {
    list.push_back(launch_of_ours(settings, "unisono-persistent", "persistent", "auto"));
  }
  return list;
}

}  // namespace

Result<Stage> set_stage(const BenchSettings& settings, Machine& machine) {
  Stage stage;
  auto doors = Doors::open();
  if (!doors) return doors.status();
  int id = 0;
  for (Launch& launch : ours(settings)) {
    const std::string heading = launch.label.heading();
    auto group = doors->admit(std::move(launch), id++, settings.ranks);
    if (!group) {
      return Status(group.status().code(), cat(heading, ": ", group.status().message()));
    }
    stage.contenders.push_back(std::move(*group));
  }
  if (!settings.peers.empty()) stage.scripts = std::make_unique<PeerScripts>();
  for (const std::string& name : settings.peers) {
    const Peer peer = find_peer(name, settings.peer_pythons);
    if (!peer.missing.empty()) {
      stage.notes.push_back(cat(name, " is not measured: ", peer.missing));
      continue;
    }
    auto group = doors->admit(
        launch_of_peer(peer, stage.scripts->folder(), settings.ranks, settings.transport), id++,
        settings.ranks);
    if (!group) {
      if (interrupted() != 0) return group.status();
      stage.notes.push_back(cat(name, " is not measured: ", group.status().message()));
      continue;
    }
    machine.versions[name] = (*group)->version();
    stage.contenders.push_back(std::move(*group));
  }
  if (settings.limit) stage.contenders.push_back(std::make_unique<MemoryLimit>(settings.ranks));
  return stage;
}

}  // namespace unisono::tools
