// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/switch/switchable_mail.hpp"

#include "order/messages/messages.hpp"

namespace unisono::order {
namespace {

constexpr unsigned kMore = 0x80;

}  // namespace

std::vector<std::byte> EpochMail::seal(std::span<const std::byte> message,
                                       std::span<const std::byte> lead) const {
  std::vector<std::byte> sealed;
  sealed.reserve(lead.size() + message.size() + 2);
  sealed.assign(lead.begin(), lead.end());
  std::uint64_t rest = epoch_;
  for (; rest >= kMore; rest >>= 7) sealed.push_back(static_cast<std::byte>(rest | kMore));
  sealed.push_back(static_cast<std::byte>(rest));
  sealed.insert(sealed.end(), message.begin(), message.end());
  return sealed;
}

Result<std::optional<std::span<const std::byte>>> EpochMail::open(
    Rank from, std::span<const std::byte> sealed, bool has_consented) {
  std::uint64_t epoch = 0;
  unsigned shift = 0;
  std::size_t at = 0;
  for (bool more = true; more; shift += 7, ++at) {
    if (at == sealed.size() || shift > 56) return malformed(from, "it does not say its epoch");
    const auto byte = static_cast<std::uint64_t>(sealed[at]);
    epoch |= (byte & (kMore - 1)) << shift;
    more = (byte & kMore) != 0;
  }
  using Opened = std::optional<std::span<const std::byte>>;
  const auto message = sealed.subspan(at);
  if (epoch == epoch_) return Opened(message);
  if (epoch < epoch_) return Opened();
  if (epoch > epoch_ + 1 || !has_consented) {
    return malformed(from, "it comes from an epoch nobody agreed on");
  }
  early_.emplace_back(from, std::vector<std::byte>(message.begin(), message.end()));
  return Opened();
}

std::vector<std::pair<Rank, std::vector<std::byte>>> EpochMail::advance() {
  ++epoch_;
  return std::exchange(early_, {});
}

}  // namespace unisono::order
