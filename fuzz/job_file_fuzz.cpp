// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The note that rank 0 leaves for the others, found in a folder that others may write to.
#include "rendezvous/bootstrap/job_file.hpp"
#include "target.hpp"

namespace unisono::fuzz {

void take_apart(std::span<const std::byte> bytes) {
  const auto note = rendezvous::parse_note(bytes);
  if (!note) return;
  must(rendezvous::encode_note(*note) == Bytes(bytes.begin(), bytes.end()),
       "a note reads as another than it is");
}

std::vector<Bytes> seeds() {
  return {rendezvous::encode_note(
              {{rendezvous::JobKey{1, 2, 3}, "127.0.0.1:29500"}, "a place", 4711, 123456}),
          rendezvous::encode_note({})};
}

}  // namespace unisono::fuzz
