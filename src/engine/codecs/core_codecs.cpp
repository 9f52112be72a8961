// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which operations on their way may change what codecs keep.
#include "engine/core.hpp"
#include "model/plan.hpp"
#include "submit/front_door.hpp"

namespace unisono::engine {

Status EngineCore::codecs_at_rest(const CodecPart* part) const {
  bool busy = persistents_packing_.load() > 0;
  if (part == nullptr) {
    busy = busy || names_.packing() > 0;
  } else {
    const encode::ChosenTensors chosen(*part);
    busy = busy || names_.packing(part->process_set,
                                  [&](std::string_view name) { return chosen.has(name); });
  }
  return busy ? encode::codecs_busy() : Status();
}

bool EngineCore::packs(const Operation& operation, const Settings& settings) const {
  const Members set = members(settings.process_set);
  const auto request = submit::make_request(operation, settings, &set, codecs_);
  return request.ok() && may_pack(request.value());
}

void EngineCore::count_as_packing(Pending& pending) {
  ++persistents_packing_;
  // Told before the ticket is done, and however the operation ends.
  pending.on_done = [this](const Status&) { --persistents_packing_; };
}

}  // namespace unisono::engine
