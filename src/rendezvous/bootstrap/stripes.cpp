// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/bootstrap/stripes.hpp"

#include <algorithm>

#include "base/data/text.hpp"
#include "base/os/cpu.hpp"
#include "base/os/text_file.hpp"
#include "base/waiting.hpp"
#include "transport/mesh/frame.hpp"

namespace unisono::rendezvous {
namespace {
constexpr long kOneIsEnoughMbits = 10'000;
// One for what is short, which the engine's thread serves itself, and four more.
constexpr std::size_t kStripesOfFastNetworks = 5;
constexpr int kCoresPerRank = 4;            // with fewer, a further thread only takes turns


bool enough(int cores, int ranks) { return cores >= kCoresPerRank * std::max(ranks, 1); }
}  // namespace

long interface_mbits(const std::string& interface) {
  // Interfaces without a speed, such as bridges, have -1 here, or cannot be read.
  const auto mbits = number_of<long>(word_in_file(cat("/sys/class/net/", interface, "/speed")));
  return mbits ? std::max(*mbits, 0L) : 0;
}

std::size_t stripes_for(const Options& options, const PeerRecord& self,
                        const std::vector<InterfaceAddress>& here, StripeQuestion question,
                        const std::function<long(const std::string&)>& mbits) {
  if (options.connections >= 0) return static_cast<std::size_t>(options.connections);
  const auto listens_at = parse_addresses(self.addresses);
  if (question.on_first_use || !listens_at) return 1;
  bool fast = false;
  for (const InterfaceAddress& each : here) {
    const bool used = std::ranges::any_of(listens_at.value(), [&](const HostPort& at) {
      return at.host == each.address;
    });
    if (!used || !each.up) continue;
    fast |= each.loopback ? enough(question.cores, question.ranks)
                          : mbits(each.interface) > kOneIsEnoughMbits;
  }
  return fast ? kStripesOfFastNetworks : 1;
}

Result<std::size_t> agree_on_stripes(RootExchange& root_exchange, const Options& options,
                                     std::size_t proposed) {
  if (options.connections >= 0) return proposed;
  ByteWriter out;
  out.put(static_cast<std::uint8_t>(proposed));
  auto words = root_exchange.exchange(out.bytes(), "agreeing on the number of connections");
  if (!words) return words.status();
  std::size_t least = proposed;
  for (std::size_t r = 0; r < words->size(); ++r) {
    ByteReader in((*words)[r]);
    const std::size_t theirs = in.get<std::uint8_t>();
    if (!in.finished() || theirs < 1 || theirs > transport::kStripesMax) {
      return root_exchange.fail(Status(
          Code::corrupted, cat("rank ", r, " proposed a number of connections that makes no sense")));
    }
    least = std::min(least, theirs);
  }
  return least;
}

std::size_t io_threads_for(const Options& options, std::size_t stripes, int local_size, int cores) {
  if (options.io_threads >= 0) return static_cast<std::size_t>(options.io_threads);
  // The engine's own CPUs are few where they are apart from those of the compute.
  if (stripes == 1 || options.cpu_sets != "off" || !enough(cores, local_size)) return 0;
  const int each = cores / std::max(local_size, 1);
  return std::min<std::size_t>(stripes - 1, static_cast<std::size_t>(each - 1));
}

std::size_t io_threads_for(const Options& options, std::size_t stripes, int local_size) {
  return io_threads_for(options, stripes, local_size, usable_cores());
}

Nanos io_spin_for(const Options& options, std::size_t io_threads, int local_size, int cores) {
  if (options.spin_us >= 0) return seconds_to_nanos(options.spin_us * 1e-6);
  // Beside them runs the thread that waits and drives, or else the engine's.
  const auto each = static_cast<std::size_t>(cores / std::max(local_size, 1));
  return io_threads > 0 && each >= io_threads + 1 ? kSpinWithRoomFor : Nanos(0);
}

}  // namespace unisono::rendezvous
