// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the ranks of a job write down (--trace, --timeline): each its own part; the launcher makes
// one file of them at the end, however the job ended. Hosts that have agents send theirs, so that
// they need no file system in common.
#pragma once

#include <functional>
#include <string>

#include "run/frames.hpp"
#include "run/host_layout.hpp"
#include "run/verdict.hpp"
#include "unisono/status.hpp"

namespace unisono::tools {

// Checks that the files of settings.recorded can be written and tells the ranks where their parts
// go.
Status prepare_recordings(RunSettings& settings);
// Appends what an agent sent to the part of a rank.
void keep_part(const JobSpec& job, int rank, std::string_view body);
// Merges the parts and removes them. Returns what to tell people, and writes it into the verdict.
std::string merge_recordings(const RunSettings& settings, JobEnd& end);

// On the agent's side: the parts go to a folder of this host.
Status redirect_recordings(JobSpec& job);
// Hands over the parts of the ranks of this host, and removes them.
void send_parts(const JobSpec& job, const HostPlan& plan, const std::function<bool(Frame)>& send);

}  // namespace unisono::tools
