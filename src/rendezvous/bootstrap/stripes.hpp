// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How many data connections two ranks have over TCP, and how many threads serve them, where the
// options leave it open. One connection fills a network of up to 10 Gbit/s; a faster one takes
// several, and what one core can check and copy is less than it carries. Loopback is as fast as the
// cores that serve it.
// Pure, but for interface_mbits() and agree_on_stripes().
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rendezvous/bootstrap/root_exchange.hpp"
#include "rendezvous/connect/addresses.hpp"
#include "rendezvous/identity/peer_record.hpp"
#include "unisono/options.hpp"

namespace unisono::rendezvous {

// The speed of an interface as the kernel tells it; 0 when it is not known.
long interface_mbits(const std::string& interface);

// What this rank proposes: by the fastest interface at which it listens for its peers. Where that is
// loopback, all ranks of the job are on this host. Where ranks connect on first use, one.
struct StripeQuestion {
  bool on_first_use = false;
  int ranks = 1;                          // of the job
  int cores = 1;                          // that this rank may use
};
std::size_t stripes_for(const Options& options, const PeerRecord& self,
                        const std::vector<InterfaceAddress>& here, StripeQuestion question,
                        const std::function<long(const std::string&)>& mbits = interface_mbits);

// The least that any rank proposes, which suits all; the option itself where it says a number.
Result<std::size_t> agree_on_stripes(RootExchange& root_exchange, const Options& options,
                                     std::size_t proposed);

// For this rank, of `local_size` on its host.
std::size_t io_threads_for(const Options& options, std::size_t stripes, int local_size, int cores);
std::size_t io_threads_for(const Options& options, std::size_t stripes, int local_size);
// How long they look for more before they sleep: not at all, where they would keep a thread of a
// rank from its core.
Nanos io_spin_for(const Options& options, std::size_t io_threads, int local_size, int cores);

}  // namespace unisono::rendezvous
