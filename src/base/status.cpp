// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "unisono/status.hpp"

#include <array>

#include "base/data/text.hpp"

namespace unisono {

std::string_view code_name(Code code) {
  static constexpr std::array<std::string_view, 16> kNames = {
      "Ok",        "InvalidArgument", "DuplicateName", "Mismatch",
      "PeerLost",  "PeerLeft",        "TimedOut",      "Stalled",
      "NotInitialized", "ShutDown",   "Forked",        "Refused",
      "Unavailable", "Corrupted",     "OutOfMemory",   "Internal"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : "Unknown";
}

Status::Status(Code code, std::string message, Culprit culprit) {
  if (code == Code::ok) return;
  rep_ = std::make_shared<const Rep>(Rep{code, std::move(message), std::move(culprit)});
}

const std::string& Status::message() const {
  static const std::string kNothing;
  return rep_ ? rep_->message : kNothing;
}

const Culprit& Status::culprit() const {
  static const Culprit kNobody;
  return rep_ ? rep_->culprit : kNobody;
}

bool Status::retryable() const {
  switch (code()) {
    case Code::peer_lost:
    case Code::peer_left:
    case Code::timed_out:
    case Code::stalled:
    case Code::corrupted:
    case Code::unavailable:
      return true;
    default:
      return false;
  }
}

std::string Status::to_string() const {
  return ok() ? std::string("Ok") : cat(code_name(code()), ": ", message());
}

}  // namespace unisono
