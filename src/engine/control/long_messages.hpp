// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Control messages longer than a lane takes: the sender cuts them into parts, and the receiver puts
// them together again. A lane keeps the order of its frames, so parts need no numbers.
// Thread: the engine's driver.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/data/text.hpp"
#include "engine/control/control.hpp"
#include "transport/mesh/frame.hpp"

namespace unisono::engine {

class LongMessages {
 public:
  static constexpr std::size_t kPartBytes = transport::kMessageBytesMax - 64;
  // No agreement on tensors is longer than this; more would only fill the receiver's memory.
  static constexpr std::size_t kMax = std::size_t{1} << 30;

  // Calls post(part) with each message that is to be sent, one or more.
  template <typename Post>
  static Status cut(std::span<const std::byte> message, Post post,
                    std::size_t part_bytes = kPartBytes) {
    if (message.size() > kMax) {
      return Status(Code::internal,
                    cat("a control message of ", message.size(), " bytes exceeds the ", kMax,
                        " that are sent; submit fewer tensors at a time"));
    }
    if (message.size() <= part_bytes) {
      post(message);
      return {};
    }
    while (!message.empty()) {
      const std::size_t bytes = std::min(part_bytes, message.size());
      post(std::span<const std::byte>(encode_part(message.first(bytes), bytes == message.size())));
      message = message.subspan(bytes);
    }
    return {};
  }

  // Returns the whole message once its last part has come; empty before.
  Result<std::vector<std::byte>> add(Rank from, const Control& part) {
    std::vector<std::byte>& parts = parts_[from];
    if (part.body.empty() || parts.size() + part.body.size() > kMax) {
      return Status(Code::corrupted, "a control message in parts that do not fit together");
    }
    parts.insert(parts.end(), part.body.begin(), part.body.end());
    if (parts.front() == static_cast<std::byte>(ControlKind::part)) {
      return Status(Code::corrupted, "a control message has a part within a part");
    }
    if (!part.last) return std::vector<std::byte>();
    return std::exchange(parts, {});
  }

 private:
  std::map<Rank, std::vector<std::byte>> parts_;
};

}  // namespace unisono::engine
