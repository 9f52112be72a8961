// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mesh/frame_seal.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "base/data/hash.hpp"

namespace unisono::transport {
namespace {

class HashSeal final : public FrameSeal {
 public:
  explicit HashSeal(const SealKey& key) { std::memcpy(&seed_, key.data(), sizeof seed_); }

  FrameCheck header(std::uint64_t number, std::span<const std::byte> bytes) override {
    return hash(bytes, number);
  }
  void begin(std::uint64_t number) override { number_ = number; }
  void add(std::span<const std::byte> bytes) override { check_ = hash(bytes, number_); }
  FrameCheck end() override { return check_; }
  std::size_t stride() const override { return SIZE_MAX; }

 private:
  FrameCheck hash(std::span<const std::byte> bytes, std::uint64_t number) const {
    FrameCheck check{};
    const std::uint64_t value = hash_bytes(bytes, seed_ ^ number);
    std::memcpy(check.data(), &value, sizeof value);
    return check;
  }

  std::uint64_t seed_ = 0, number_ = 0;
  FrameCheck check_{};
};

// An OpenSSL context of its own, so that the configuration and the providers of the program that
// uses this library have no influence. Made once and kept: ciphers are constants.
struct Ciphers {
  Ciphers() {
    OSSL_LIB_CTX* library = OSSL_LIB_CTX_new();
    UNISONO_CHECK(library != nullptr);
    aes = EVP_CIPHER_fetch(library, "AES-256-GCM", nullptr);
    chacha = EVP_CIPHER_fetch(library, "ChaCha20-Poly1305", nullptr);
    UNISONO_CHECK(aes != nullptr && chacha != nullptr);
  }
  EVP_CIPHER* aes = nullptr;
  EVP_CIPHER* chacha = nullptr;
};
const Ciphers& ciphers() {
  static const Ciphers kCiphers;
  return kCiphers;
}

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

constexpr std::size_t kUpdateBytesMax = 1 << 30;  // OpenSSL takes the length as an int

enum class Part : std::uint32_t { header = 0, payload = 1 };
using Nonce = std::array<unsigned char, 12>;
Nonce nonce_of(Part part, std::uint64_t number) {
  Nonce nonce;
  std::memcpy(nonce.data(), &part, sizeof part);
  std::memcpy(nonce.data() + sizeof part, &number, sizeof number);
  return nonce;
}

FrameCheck finish_check(EVP_CIPHER_CTX* context) {
  FrameCheck check;
  unsigned char nothing[16];
  int ignored = 0;
  UNISONO_CHECK(EVP_EncryptFinal_ex(context, nothing, &ignored) == 1);
  UNISONO_CHECK(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, kCheckBytes, check.data()) ==
                1);
  return check;
}

class AeadSeal final : public FrameSeal {
 public:
  AeadSeal(const EVP_CIPHER* cipher, const SealKey& key) : context_(EVP_CIPHER_CTX_new()) {
    UNISONO_CHECK(context_ != nullptr);
    UNISONO_CHECK(EVP_EncryptInit_ex2(context_.get(), cipher, key.data(), nullptr, nullptr) == 1);
  }

  FrameCheck header(std::uint64_t number, std::span<const std::byte> bytes) override {
    start(Part::header, number);
    add(bytes);
    return end();
  }
  void begin(std::uint64_t number) override { start(Part::payload, number); }
  void add(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const auto piece = bytes.first(std::min(bytes.size(), kUpdateBytesMax));
      int ignored = 0;
      // Without an output buffer the bytes are authenticated and not encrypted.
      UNISONO_CHECK(EVP_EncryptUpdate(context_.get(), nullptr, &ignored,
                                      reinterpret_cast<const unsigned char*>(piece.data()),
                                      static_cast<int>(piece.size())) == 1);
      bytes = bytes.subspan(piece.size());
    }
  }
  FrameCheck end() override { return finish_check(context_.get()); }
  // Small enough that what has been authenticated is still in the cache when it is copied.
  std::size_t stride() const override { return 256 << 10; }

 private:
  void start(Part part, std::uint64_t number) {
    const Nonce nonce = nonce_of(part, number);
    UNISONO_CHECK(EVP_EncryptInit_ex2(context_.get(), nullptr, nullptr, nonce.data(), nullptr) ==
                  1);
  }

  CipherContext context_;
};

// Payloads pass through a context of their own, since a check of a header comes in between.
class EncryptingSeal final : public FrameSeal {
 public:
  EncryptingSeal(const EVP_CIPHER* cipher, const SealKey& key, Direction direction)
      : headers_(cipher, key), context_(EVP_CIPHER_CTX_new()), out_(direction == Direction::out) {
    UNISONO_CHECK(context_ != nullptr);
    UNISONO_CHECK(EVP_CipherInit_ex2(context_.get(), cipher, key.data(), nullptr, out_ ? 1 : 0,
                                     nullptr) == 1);
  }

  FrameCheck header(std::uint64_t number, std::span<const std::byte> bytes) override {
    return headers_.header(number, bytes);
  }
  void begin(std::uint64_t number) override {
    const Nonce nonce = nonce_of(Part::payload, number);
    UNISONO_CHECK(EVP_CipherInit_ex2(context_.get(), nullptr, nullptr, nonce.data(),
                                     out_ ? 1 : 0, nullptr) == 1);
  }
  void add(std::span<const std::byte>) override { UNISONO_CHECK(false); }
  void transform(std::span<const std::byte> in, std::byte* out) override {
    while (!in.empty()) {
      const auto piece = in.first(std::min(in.size(), kUpdateBytesMax));
      int written = 0;
      UNISONO_CHECK(EVP_CipherUpdate(context_.get(), reinterpret_cast<unsigned char*>(out),
                                     &written,
                                     reinterpret_cast<const unsigned char*>(piece.data()),
                                     static_cast<int>(piece.size())) == 1);
      UNISONO_CHECK(static_cast<std::size_t>(written) == piece.size());
      in = in.subspan(piece.size());
      out += piece.size();
    }
  }
  FrameCheck end() override { return finish_check(context_.get()); }
  bool passes(const FrameCheck& check) override {
    FrameCheck expected = check;
    unsigned char nothing[16];
    int ignored = 0;
    UNISONO_CHECK(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, kCheckBytes,
                                      expected.data()) == 1);
    return EVP_DecryptFinal_ex(context_.get(), nothing, &ignored) == 1;
  }
  bool encrypts() const override { return true; }
  std::size_t stride() const override { return headers_.stride(); }

 private:
  AeadSeal headers_;
  CipherContext context_;
  const bool out_;
};

bool has_aes_instructions() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
#elif defined(__aarch64__)
  constexpr unsigned long kNeeded = HWCAP_AES | HWCAP_PMULL;
  return (::getauxval(AT_HWCAP) & kNeeded) == kNeeded;
#else
  return false;
#endif
}

}  // namespace

std::string_view seal_name(SealKind kind) {
  switch (kind) {
    case SealKind::chacha20_poly1305: return "ChaCha20-Poly1305";
    case SealKind::aes_256_gcm: return "AES-256-GMAC";
    case SealKind::chacha20_poly1305_encrypted: return "ChaCha20-Poly1305, encrypted";
    case SealKind::aes_256_gcm_encrypted: return "AES-256-GCM, encrypted";
    case SealKind::hash: return "XXH3";
  }
  return "unknown";
}

SealKind fastest_seal() {
  return has_aes_instructions() ? SealKind::aes_256_gcm : SealKind::chacha20_poly1305;
}

SealKind encrypted(SealKind kind) {
  UNISONO_CHECK(kind == SealKind::aes_256_gcm || kind == SealKind::chacha20_poly1305);
  return kind == SealKind::aes_256_gcm ? SealKind::aes_256_gcm_encrypted
                                       : SealKind::chacha20_poly1305_encrypted;
}

LaneSecret hash_secret(std::uint64_t seed, unsigned lane, unsigned side) {
  LaneSecret secret;
  const auto put = [&](unsigned from, SealKey& key) {
    constexpr std::uint64_t kApart = 0x9E3779B97F4A7C15ull;  // odd, so that its multiples differ
    const std::uint64_t word = seed ^ kApart * (2 * lane + from + 1);
    std::memcpy(key.data(), &word, sizeof word);
  };
  put(side, secret.out);
  put(1 - side, secret.in);
  return secret;
}

bool FrameSeal::passes(const FrameCheck& check) { return same_check(check, end()); }

void FrameSeal::transform(std::span<const std::byte>, std::byte*) { UNISONO_CHECK(encrypts()); }

std::unique_ptr<FrameSeal> FrameSeal::make(SealKind kind, const SealKey& key,
                                           Direction direction) {
  switch (kind) {
    case SealKind::hash: return std::make_unique<HashSeal>(key);
    case SealKind::aes_256_gcm: return std::make_unique<AeadSeal>(ciphers().aes, key);
    case SealKind::chacha20_poly1305: return std::make_unique<AeadSeal>(ciphers().chacha, key);
    case SealKind::aes_256_gcm_encrypted:
      return std::make_unique<EncryptingSeal>(ciphers().aes, key, direction);
    case SealKind::chacha20_poly1305_encrypted:
      return std::make_unique<EncryptingSeal>(ciphers().chacha, key, direction);
  }
  UNISONO_CHECK(false);
  return nullptr;
}

bool same_check(const FrameCheck& a, const FrameCheck& b) {
  return CRYPTO_memcmp(a.data(), b.data(), kCheckBytes) == 0;
}

}  // namespace unisono::transport
