// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a message between two ranks takes, by its size and by what joins them, and what it takes to
// reduce a byte. Measured while joining (rendezvous/connect/measure.hpp); all ranks have the same
// figures, bit for bit, since decisions follow from them. Pure; thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace unisono::cost {

enum class LinkClass : std::uint8_t { memory, loopback, wire };
inline constexpr std::size_t kLinkClasses = 3;
std::string_view link_name(LinkClass link);

// The sizes that are measured; between two of them time grows in a straight line.
inline constexpr std::array<std::size_t, 5> kPointBytes{8, 4 << 10, 64 << 10, 256 << 10, 1 << 20};
using Points = std::array<double, kPointBytes.size()>;  // seconds for each

struct LinkCost {
  Points points{};

  double seconds(double bytes) const;       // of one message
  // Of so many messages one after the other. A link that lets a burst pass at once, and only then
  // keeps its rate, does so for the first of them alone.
  double in_turn(double messages, double bytes_each) const;
  double latency() const { return points.front(); }
  double per_byte() const;                  // of long messages
};

struct Costs {
  std::array<LinkCost, kLinkClasses> links;
  double reduce_per_byte = 0;
  double merge_per_pair = 0;                // an (index, value) pair of either of two streams

  const LinkCost& of(LinkClass link) const { return links[static_cast<std::size_t>(link)]; }
  // A step of a running engine takes so long: more than the shortest message took while nothing else
  // was done. Longer messages take as much more.
  void refine_steps(LinkClass link, double step_s);
};

// Figures of a common machine, for what nobody could measure.
Costs typical_costs();

// What one rank found; 0 stands for what it did not measure.
struct Measurement {
  std::array<Points, kLinkClasses> seconds{};
  double reduce_per_byte = 0, merge_per_pair = 0;
};
std::vector<std::byte> encode_measurement(const Measurement& measurement);
// None when the bytes are no measurement.
std::optional<Measurement> decode_measurement(std::span<const std::byte> bytes);
// The median of what the ranks found, figure by figure; a longer message never takes less. Sizes that
// nobody had the time to measure follow the line of those before.
Costs agreed_costs(std::span<const Measurement> measurements);

}  // namespace unisono::cost
