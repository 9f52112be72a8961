// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Finds the implementations to measure against and says how to start them. Peers are never
// required: one that is missing carries the reason.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/group.hpp"

namespace unisono::tools {

struct Peer {
  std::string name, python, launcher;        // launcher: mpirun; "" where ranks start one by one
  std::string version;
  std::string missing;                       // why it cannot be used; "" when it can
};

// Looks at --peer-python, then UNISONO_PEER_<NAME>_PYTHON, then python3 on PATH.
Peer find_peer(const std::string& name, const std::map<std::string, std::string>& pythons);

// The peers' scripts, written from this executable into a folder that is removed with the object.
class PeerScripts {
 public:
  PeerScripts();
  PeerScripts(const PeerScripts&) = delete;
  PeerScripts& operator=(const PeerScripts&) = delete;
  ~PeerScripts();
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;                       // "" when it could not be made
};

Launch launch_of_peer(const Peer& peer, const std::string& folder, int ranks,
                      const std::string& transport);

struct PeerScript {
  std::string_view file, text;
};
// Generated from tools/peers when the build is configured.
std::vector<PeerScript> peer_scripts();

}  // namespace unisono::tools
