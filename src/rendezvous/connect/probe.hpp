// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Asks whether the rank 0 that wrote a job note is still waiting: does a handshake with the note's
// key, which only that rank 0 can answer. Thread: the joining one. Blocks for at most `patience`.
#pragma once

#include "base/clock.hpp"
#include "rendezvous/bootstrap/job_file.hpp"

namespace unisono::rendezvous {

bool rank_zero_answers(const JobNote& note, const Hello& as, Nanos patience);

}  // namespace unisono::rendezvous
