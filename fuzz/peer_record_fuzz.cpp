// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a rank tells about itself when it joins, and what the others do with it.
#include "rendezvous/identity/peer_record.hpp"
#include "rendezvous/connect/addresses.hpp"
#include "target.hpp"
#include "unisono/options.hpp"

namespace unisono::fuzz {
namespace {

rendezvous::PeerRecord example() {
  rendezvous::PeerRecord peer_record;
  peer_record.rank = 1;
  peer_record.size = 2;
  peer_record.host = "node-7";
  peer_record.pid = 4711;
  peer_record.addresses = "10.0.0.1:29500,[fd00::1]:29500";
  peer_record.unix_name = "unisono-1";
  peer_record.place = "boot/net";
  peer_record.local_rank = 1;
  peer_record.local_size = 2;
  peer_record.options = Options{}.agreed_text();
  return peer_record;
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  static_cast<void>(rendezvous::parse_addresses(text_of(bytes)));
  const auto peer_record = rendezvous::decode_peer_record(bytes);
  if (!peer_record) return;
  must(rendezvous::encode_peer_record(*peer_record) == Bytes(bytes.begin(), bytes.end()),
       "a card reads as another than it is");
  static_cast<void>(rendezvous::parse_addresses(peer_record->addresses));
  rendezvous::PeerRecord zero = example();
  zero.rank = 0;
  static_cast<void>(rendezvous::compare_options(zero, *peer_record));
}

std::vector<Bytes> seeds() {
  rendezvous::PeerRecord plain;
  plain.addresses = "127.0.0.1:1";
  return {rendezvous::encode_peer_record(example()), rendezvous::encode_peer_record(plain),
          bytes_of("[fe80::1]:65535")};
}

}  // namespace unisono::fuzz
