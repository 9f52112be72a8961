// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What members under order=program say to each other where calls do not simply run
// (docs/WIRE_FORMAT.md, "Order"). While they do, nothing is said.
// Decoding checks everything; malformed input is a Status naming the sender.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "model/members.hpp"
#include "model/response.hpp"
#include "unisono/status.hpp"

namespace unisono::order {

enum class ProgramWord : std::uint8_t {
  call = 1,     // to the first member: what this one calls at the position
  idle = 2,     // to it: nothing yet
  leaving = 3,  // to it: nothing any more
  answer = 4,   // from it: what becomes of the position
  nudge = 5,    // to it, and from it to all: somebody waits at the position for long, or leaves
};

struct ProgramMessage {
  ProgramWord word = ProgramWord::idle;
  std::uint64_t position = 0;
  Nanos age{0};                         // call: since it was submitted; idle: since the last one was
  std::vector<Request> requests = {};   // call
  std::string last = {};                // idle: the name of the last call; may be empty
  Response response = {};               // answer
  bool stays = false;                   // answer: members go on asking at every position
};

std::vector<std::byte> encode_program_message(const ProgramMessage& message);
Result<ProgramMessage> decode_program_message(Rank from, std::span<const std::byte> bytes,
                                              const Members& members, SetId set);

}  // namespace unisono::order
