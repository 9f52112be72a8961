// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The operations of this rank that wait for their response, by process set and name.
// Thread: the engine's driver.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/pending.hpp"

namespace unisono::engine {

class Pendings {
 public:
  // When memory runs out, the pending stays with the caller.
  void add(Pending&& pending) {
    Pending& place = sets_[pending.request.set][pending.request.name];
    place = std::move(pending);
  }
  // Returns an empty Pending (no ticket) when this rank has not submitted the name.
  Pending take(SetId set, const std::string& name) {
    const auto names = sets_.find(set);
    if (names == sets_.end()) return {};
    auto node = names->second.extract(name);
    return node.empty() ? Pending{} : std::move(node.mapped());
  }
  // Records that the order has answered the name.
  void agreed(SetId set, const std::string& name, Time at) {
    const auto names = sets_.find(set);
    if (names == sets_.end()) return;
    const auto it = names->second.find(name);
    if (it != names->second.end()) it->second.agreed = at;
  }
  std::vector<Pending> take_all(SetId set) {
    std::vector<Pending> all;
    for (auto& [name, pending] : sets_[set]) all.push_back(std::move(pending));
    sets_.erase(set);
    return all;
  }
  std::vector<Pending> take_all() {
    std::vector<Pending> all;
    for (auto& [set, names] : sets_) {
      for (auto& [name, pending] : names) all.push_back(std::move(pending));
    }
    sets_.clear();
    return all;
  }

 private:
  std::unordered_map<SetId, std::unordered_map<std::string, Pending>> sets_;
};

}  // namespace unisono::engine
