// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "submit/names.hpp"

#include <algorithm>

#include "base/data/text.hpp"
#include "model/plan.hpp"

namespace unisono::submit {

void NameRegistry::forget(const Request& request) noexcept {
  const auto it = names_.find(std::pair(request.set, std::string_view(request.name)));
  if (it == names_.end()) return;
  if (it->second) --packing_;
  names_.erase(it);
}

Status NameRegistry::reserve(std::span<const Pending> operations) {
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Request& request = operations[i].request;
    bool fresh = false;
    try {
      const bool packs = may_pack(request);
      fresh = names_.emplace(std::pair(request.set, request.name), packs).second;
      if (fresh && packs) ++packing_;
    } catch (...) {
      for (std::size_t k = 0; k < i; ++k) forget(operations[k].request);
      throw;
    }
    if (fresh) continue;
    for (std::size_t k = 0; k < i; ++k) forget(operations[k].request);
    return Status(Code::duplicate_name,
                  cat("'", request.name, "' (", name_of(request.kind),
                      ") was submitted again before its first use completed; wait on the first "
                      "ticket, or give the second operation a name of its own"),
                  Culprit{.rank = -1, .host = {}, .pid = 0, .tensor = request.name});
  }
  return {};
}

void NameRegistry::release(const Request& request) noexcept {
  std::lock_guard lock(mutex_);
  forget(request);
}

std::size_t NameRegistry::packing() const {
  std::lock_guard lock(mutex_);
  return packing_;
}

bool NameRegistry::packing(SetId set, const std::function<bool(std::string_view)>& chosen) const {
  std::lock_guard lock(mutex_);
  return packing_ > 0 && std::any_of(names_.begin(), names_.end(), [&](const auto& entry) {
    return entry.second && entry.first.first == set && chosen(entry.first.second);
  });
}

std::size_t NameRegistry::in_flight() const {
  std::lock_guard lock(mutex_);
  return names_.size();
}

}  // namespace unisono::submit
