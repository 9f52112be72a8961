// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Everything that can be chosen by name, with one sentence each. The option table, --help, --list
// and docs/OPTIONS.md read these. The folder of a part says how it is made, in a registry of rows
// with the same names (model/options/registry.hpp); only "auto" may have no row.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>

#include "unisono/options.hpp"

namespace unisono {

inline constexpr OptionChoice kOrderChoices[] = {
    {"auto", "cache, and topo once the steps have become alike"},
    {"coordinator", "rank 0 counts requests"},
    {"tree", "inner nodes merge requests on their way to rank 0"},
    {"cache", "one bit per operation seen before"},
    {"topo", "an order learned once, then no messages"},
    {"program", "no messages: all ranks make the same calls in the same order, as torch.distributed "
                "asks of its callers"},
};

inline constexpr OptionChoice kPacingChoices[] = {
    {"event", "as soon as there is something to negotiate"},
    {"cycle", "every cycle_ms, all ranks at once; the engine's thread spins until all have come"},
    {"gs", "like cycle; all sleep as long as the shortest sleeper"},
    {"nbcs", "like cycle; the engine's thread sleeps until all have come"},
};

inline constexpr OptionChoice kPlannerChoices[] = {
    {"threshold", "fuses tensors in agreed order up to fusion_bytes per bucket"},
    {"wfbp", "one bucket per tensor or group: starts soonest, sends the most messages"},
    {"single", "one bucket for all alike tensors of a planned step, or of a round: sends the fewest "
               "messages"},
    {"groups", "fuses only what the caller grouped; other tensors go alone"},
    {"merged", "in planned steps the buckets that end soonest by measured costs and times, of up to "
               "fusion_bytes; elsewhere like threshold"},
    {"merged-greedy", "like merged, but joins a tensor to the open bucket if it waits less than that "
                      "saves, which is not always best"},
    {"priority", "in planned steps the most urgent of what is ready goes next; elsewhere like "
                 "threshold"},
};

inline constexpr OptionChoice kCodecChoices[] = {
    {"none", "elements travel as they are"},
    {"fp16", "float32 and float64 travel and are reduced as float16"},
    {"bf16", "float32 and float64 travel and are reduced as bfloat16"},
};

inline constexpr OptionChoice kTransportChoices[] = {
    {"auto", "shared memory within a host, TCP between hosts"},
    {"shm", "shared memory between all ranks, which must be on one host"},
    {"tcp", "TCP between all ranks, also within a host"},
};

inline constexpr OptionChoice kIntegrityChoices[] = {
    {"auth", "a keyed MAC on every frame, so that strangers on the network can neither make, "
             "change nor repeat one"},
    {"plain", "a checksum that finds damage, for networks nobody else is on; none for payloads on "
              "loopback"},
};

inline constexpr OptionChoice kConnectChoices[] = {
    {"auto", "all at once in jobs of up to 32 ranks, else on first use"},
    {"all", "everybody with everybody when the job begins"},
    {"first_use", "those adjacent in a tree or a ring when the job begins, others when they exchange "
                  "data; control messages are passed on along the tree"},
};

inline constexpr OptionChoice kCongestionChoices[] = {
    {"cubic", "sends until something is lost: steady where exchanges take turns with computing"},
    {"system", "what the system has for all connections"},
    {"bbr", "reckons with a bandwidth it measures: for long lines that lose packets"},
    {"dctcp", "for networks whose switches mark packets before they drop them"},
    {"reno", "the oldest one, which every system has"},
};

inline constexpr OptionChoice kHealChoices[] = {
    {"auto", "those between hosts, where a connection can break while both ends live"},
    {"always", "also those within a host"},
    {"never", "none: a rank whose connection breaks is lost"},
};

// The algorithms of an allreduce over messages.
// Of allreduces; what only others have follows below.
inline constexpr OptionChoice kAllreduceChoices[] = {
    {"auto", "the most promising are tried for each size and the fastest is kept; with "
             "deterministic, or where no link was measured, chosen by size and number of ranks"},
    {"ring", "2(n-1) steps, sends 2(n-1)/n of the data; many ranks and large data"},
    {"recursive_doubling",
     "log2 n steps (+2 off powers of two), sends log2 n times the data; up to 16 KiB"},
    {"direct", "2 steps, sends 2(n-1)/n of the data, one rounding in rank order; up to 8 ranks, "
               "deterministic runs"},
    {"halving_doubling", "2 log2 n steps (+2 off powers of two), sends 2(n-1)/n of the data; many "
                         "ranks, 16 to 512 KiB"},
    {"tree", "2 log2 n steps, sends up to 3 times the data, segments are pipelined"},
    {"double_tree", "the same on two trees with half of the data each, sends twice the data"},
    {"rings", "two or four rings in different orders and directions with a part of the data each; "
              "where one stream does not fill the wire"},
    {"hierarchical", "within each host through shared memory, then direct between hosts, of which "
                     "each sends 2(h-1)/h of the data; several hosts"},
};
// A name holds for every collective that has an algorithm of it.
inline constexpr auto kAlgorithmChoices = [] {
  std::array<OptionChoice, std::size(kAllreduceChoices) + 2> all{};
  auto* out = std::copy(std::begin(kAllreduceChoices), std::end(kAllreduceChoices), all.data());
  *out++ = {"halving", "of reduce-scatters alone: log2 n steps (+2 off powers of two)"};
  *out++ = {"pairwise", "of all-to-alls alone: one step, every part goes straight to its receiver"};
  return all;
}();

inline constexpr OptionChoice kJoinDivisorChoices[] = {
    {"size", "all ranks"},
    {"active", "those that have not joined"},
};

inline constexpr OptionChoice kLogChoices[] = {
    {"debug", ""}, {"info", ""}, {"warn", ""}, {"error", ""}, {"off", ""}};

}  // namespace unisono
