// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What goes wrong in a simulated run, and the layer that hides it from order/.
//
// An Order relies on first-in-first-out links, as the transport provides them. A disturbed network
// delays, duplicates and reorders messages, so they are numbered per link and LinkSequencer passes
// each on once and in order, as the transport's own sequence numbers do.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace unisono::sim {

struct Straggler {
  int rank;
  double factor;                        // of its compute time
};
struct Kill {
  int rank;
  double at_ms;
};
struct Partition {                      // cuts ranks below `boundary` off from the others
  double from_ms, until_ms;
  int boundary;
};
struct Oversleep {                      // once: the first timer of the rank that ends after at_ms
  int rank;
  double at_ms, late_ms;
};

struct Faults {
  double delay_probability = 0;         // per message
  double delay_mean_ms = 1;             // exponential
  double duplicate_probability = 0;
  double reorder_probability = 0;       // overtaken by what is sent within delay_mean_ms
  double detect_ms = 100;               // from a rank's death until the others know
  std::vector<Straggler> stragglers;
  std::vector<Kill> kills;
  std::vector<Partition> partitions;
  std::vector<Oversleep> oversleeps;

  bool disturbs_messages() const {
    return delay_probability > 0 || duplicate_probability > 0 || reorder_probability > 0 ||
           !partitions.empty();
  }
};

class LinkSequencer {
 public:
  std::uint32_t number(int from, int to) { return link(from, to).sent++; }
  // A message arrived: appends the handles that may be handed on now. A repeated one is appended to
  // `repeated` instead.
  void arrived(int from, int to, std::uint32_t number, std::uint32_t handle,
               std::vector<std::uint32_t>& in_order, std::vector<std::uint32_t>& repeated);

 private:
  struct Link {
    std::uint32_t sent = 0, next = 0;
    std::map<std::uint32_t, std::uint32_t> early;  // number -> handle
  };
  Link& link(int from, int to) {
    return links_[static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to)];
  }
  std::unordered_map<std::uint64_t, Link> links_;
};

}  // namespace unisono::sim
