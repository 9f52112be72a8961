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
    constexpr std::size_t kMax = 1 << 30;  // OpenSSL takes the length as an int
    while (!bytes.empty()) {
      const auto piece = bytes.first(std::min(bytes.size(), kMax));
      int ignored = 0;
      // Without an output buffer the bytes are authenticated and not encrypted.
      UNISONO_CHECK(EVP_EncryptUpdate(context_.get(), nullptr, &ignored,
                                      reinterpret_cast<const unsigned char*>(piece.data()),
                                      static_cast<int>(piece.size())) == 1);
      bytes = bytes.subspan(piece.size());
    }
  }
  FrameCheck end() override {
    FrameCheck check;
    unsigned char nothing[16];
    int ignored = 0;
    UNISONO_CHECK(EVP_EncryptFinal_ex(context_.get(), nothing, &ignored) == 1);
    UNISONO_CHECK(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, kCheckBytes,
                                      check.data()) == 1);
    return check;
  }
  // Small enough that what has been authenticated is still in the cache when it is copied.
  std::size_t stride() const override { return 256 << 10; }

 private:
  enum class Part : std::uint32_t { header = 0, payload = 1 };
  void start(Part part, std::uint64_t number) {
    unsigned char nonce[12];
    std::memcpy(nonce, &part, sizeof part);
    std::memcpy(nonce + sizeof part, &number, sizeof number);
    UNISONO_CHECK(EVP_EncryptInit_ex2(context_.get(), nullptr, nullptr, nonce, nullptr) == 1);
  }

  struct Free {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  };
  std::unique_ptr<EVP_CIPHER_CTX, Free> context_;
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
    case SealKind::hash: return "XXH3";
  }
  return "unknown";
}

SealKind fastest_seal() {
  return has_aes_instructions() ? SealKind::aes_256_gcm : SealKind::chacha20_poly1305;
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

std::unique_ptr<FrameSeal> FrameSeal::make(SealKind kind, const SealKey& key) {
  if (kind == SealKind::hash) return std::make_unique<HashSeal>(key);
  const bool aes = kind == SealKind::aes_256_gcm;
  return std::make_unique<AeadSeal>(aes ? ciphers().aes : ciphers().chacha, key);
}

bool same_check(const FrameCheck& a, const FrameCheck& b) {
  return CRYPTO_memcmp(a.data(), b.data(), kCheckBytes) == 0;
}

}  // namespace unisono::transport
