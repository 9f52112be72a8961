// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The check that goes with every header and every payload: 16 bytes, computed with the key of one
// direction of one lane and with the number of the frame.
//
// hash     XXH3: detects damage only. Whoever sees one frame can forge others that pass.
// others   the MAC of an AEAD cipher that is given nothing to encrypt: GMAC (AES-256-GCM) where the
//          processor has instructions for it, else Poly1305 (ChaCha20-Poly1305). Without the key
//          nobody can forge a frame that passes. The nonce is (header or payload, number of the
//          frame). It must never repeat under one key, so every connection has keys of its own, one
//          for each direction, and a number is used once. For the same reason a frame cannot be
//          repeated, moved or reflected.
// ..._encrypted   the same ciphers, with the payload encrypted. Headers stay readable.
//
// The library is OpenSSL's libcrypto. Thread: the one that drives the engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace unisono::transport {

// Numbers are part of the wire format.
enum class SealKind : std::uint8_t {
  chacha20_poly1305 = 0,
  aes_256_gcm = 1,
  chacha20_poly1305_encrypted = 2,
  aes_256_gcm_encrypted = 3,
  hash = 255
};

std::string_view seal_name(SealKind kind);
// Of the two kinds that are safe against forgery, the one that is faster on this processor.
SealKind fastest_seal();
// The same cipher, with the payload encrypted; not of a hash.
SealKind encrypted(SealKind kind);

inline constexpr std::size_t kCheckBytes = 16;
using FrameCheck = std::array<std::byte, kCheckBytes>;
using SealKey = std::array<unsigned char, 32>;

// What both ends of one lane share; one end's `out` is the other's `in`.
struct LaneSecret {
  SealKind kind = SealKind::hash;
  SealKey out{}, in{};
};

// A hash's secret for one lane, from a seed that both ends know; `side` is 0 at one end, 1 at the
// other. Frames of another lane or direction fail.
LaneSecret hash_secret(std::uint64_t seed, unsigned lane, unsigned side);

class FrameSeal {
 public:
  // Only a seal that encrypts cares whether it is for what goes out or for what comes in.
  enum class Direction : std::uint8_t { out, in };
  static std::unique_ptr<FrameSeal> make(SealKind kind, const SealKey& key,
                                         Direction direction = Direction::out);
  virtual ~FrameSeal() = default;
  // Call order: header(), then begin(), add() and end() for the payload, then the next header().
  // Where the payload is encrypted, transform() takes the place of add(); in the direction in,
  // passes() takes the place of end().
  virtual FrameCheck header(std::uint64_t number, std::span<const std::byte> bytes) = 0;
  virtual void begin(std::uint64_t number) = 0;
  virtual void add(std::span<const std::byte> bytes) = 0;
  virtual FrameCheck end() = 0;
  virtual bool passes(const FrameCheck& check);
  virtual bool encrypts() const { return false; }
  // Encrypts or decrypts the next bytes of the payload; out may be the same place.
  virtual void transform(std::span<const std::byte> in, std::byte* out);
  // The best number of bytes for one call of add(). A hash needs the whole payload in one call.
  virtual std::size_t stride() const = 0;
};

// Compares in a time that does not depend on where the two differ.
bool same_check(const FrameCheck& a, const FrameCheck& b);

}  // namespace unisono::transport
