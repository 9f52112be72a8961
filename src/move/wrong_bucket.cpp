// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/wrong_bucket.hpp"

#include "base/data/text.hpp"

namespace unisono::move {

Status wrong_bucket(const Bucket& mine, const Members& members, int member) {
  std::size_t tensors = 0;
  for (const Response& response : mine.responses) tensors += response.tensors.size();
  const std::string& first = mine.responses.front().tensors.front().name;
  return Status(Code::mismatch,
                cat("rank ", members.ranks[static_cast<std::size_t>(members.me)], " is at bucket ",
                    mine.id, " of set ", mine.set, " ('", first, "'",
                    tensors > 1 ? cat(" and ", tensors - 1, " more") : std::string(), "), rank ",
                    members.ranks[static_cast<std::size_t>(member)],
                    " came to meet it with another one: the ranks no longer agree on the order of "
                    "their operations, and data that does not belong together is never summed; run "
                    "one program and one version on all ranks, and report it if they do"));
}

}  // namespace unisono::move
