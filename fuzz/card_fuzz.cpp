// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a rank says of itself when it joins, and what the others make of it.
#include "rendezvous/identity/card.hpp"
#include "rendezvous/connect/sockets.hpp"
#include "target.hpp"
#include "unisono/options.hpp"

namespace unisono::fuzz {
namespace {

Card example() {
  Card card;
  card.rank = 1;
  card.size = 2;
  card.host = "node-7";
  card.pid = 4711;
  card.address = "[::1]:29500";
  card.unix_name = "unisono-1";
  card.place = "boot/net";
  card.local_rank = 1;
  card.local_size = 2;
  card.options = Options{}.agreed_text();
  return card;
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  static_cast<void>(parse_address(text_of(bytes)));
  const auto card = decode_card(bytes);
  if (!card) return;
  must(encode(*card) == Bytes(bytes.begin(), bytes.end()), "a card reads as another than it is");
  static_cast<void>(parse_address(card->address));
  Card zero = example();
  zero.rank = 0;
  static_cast<void>(compare_options(zero, *card));
}

std::vector<Bytes> seeds() {
  Card plain;
  plain.address = "127.0.0.1:1";
  return {encode(example()), encode(plain), bytes_of("[fe80::1]:65535")};
}

}  // namespace unisono::fuzz
