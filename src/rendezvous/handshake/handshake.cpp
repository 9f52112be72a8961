// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/handshake/handshake.hpp"

#include <sodium.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/data/bytes.hpp"
#include "base/check.hpp"
#include "base/data/text.hpp"

namespace unisono::rendezvous {
namespace {

constexpr char kMagic[8] = {'U', 'N', 'I', 'S', 'O', 'N', 'O', '\n'};
constexpr std::size_t kShareBytes = crypto_scalarmult_BYTES;
// Offsets in the first two messages: the share comes last, before the MAC where there is one.
constexpr std::size_t kHelloShareAt = kHelloBytes - kShareBytes;
constexpr std::size_t kAnswerSealAt = sizeof kMagic + 3;
constexpr std::size_t kAnswerShareAt = kAnswerBytes - kMacBytes - kShareBytes;
enum class Verdict : std::uint8_t { welcome = 0, version_differs = 1 };
// Selects a subkey of the job key; every message has its own, so that no MAC fits two of them.
enum class Use : std::uint64_t { answer = 1, proof = 2, confirm = 3, session = 4, other_job = 5 };

const unsigned char* raw(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* raw(std::span<std::byte> bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

struct Subkey {
  Subkey(const JobKey& key, Use use) {
    static_assert(crypto_kdf_KEYBYTES == kKeyBytes && crypto_auth_KEYBYTES == kKeyBytes);
    UNISONO_CHECK(sodium_init() >= 0);
    crypto_kdf_derive_from_key(bytes.data(), bytes.size(), static_cast<std::uint64_t>(use),
                               "unisonoH", key.data());
  }
  ~Subkey() { sodium_memzero(bytes.data(), bytes.size()); }
  std::array<unsigned char, kKeyBytes> bytes;
};

std::array<std::byte, kMacBytes> mac_of(const JobKey& key, Use use,
                                        std::span<const std::byte> transcript) {
  static_assert(crypto_auth_BYTES == kMacBytes);
  const Subkey subkey(key, use);
  std::array<std::byte, kMacBytes> mac;
  crypto_auth(raw(std::span<std::byte>(mac)), raw(transcript), transcript.size(),
              subkey.bytes.data());
  return mac;
}

bool mac_holds(const JobKey& key, Use use, std::span<const std::byte> transcript,
               std::span<const std::byte> mac) {
  const Subkey subkey(key, use);
  return crypto_auth_verify(raw(mac), raw(transcript), transcript.size(), subkey.bytes.data()) == 0;
}

enum class End : std::uint8_t { client, server };

// Returns false when no secret can be computed from the peer's share.
bool make_session(const JobKey& key, std::span<const std::byte> transcript, Purpose purpose,
                  const KeyShare& mine, End end, transport::SealKind seal, Session& session) {
  static_assert(crypto_kdf_KEYBYTES == 32 && kShareBytes == 32);
  std::array<unsigned char, kShareBytes> agreed{};
  if (purpose != Purpose::shm) {
    const std::size_t at = end == End::client ? kHelloBytes + kAnswerShareAt : kHelloShareAt;
    const auto theirs = transcript.subspan(at, kShareBytes);
    if (crypto_scalarmult(agreed.data(), mine.secret.data(), raw(theirs)) != 0) return false;
  }
  const Subkey subkey(key, Use::session);
  std::array<unsigned char, 32> root;
  crypto_generichash_state state;
  crypto_generichash_init(&state, subkey.bytes.data(), subkey.bytes.size(), root.size());
  crypto_generichash_update(&state, agreed.data(), agreed.size());
  crypto_generichash_update(&state, raw(transcript), transcript.size());
  crypto_generichash_final(&state, root.data(), root.size());

  const auto derive = [&](std::uint64_t number, void* to, std::size_t bytes) {
    crypto_kdf_derive_from_key(static_cast<unsigned char*>(to), bytes, number, "unisonoS",
                               root.data());
  };
  std::array<unsigned char, 16> seed;
  derive(1, session.record_key.data(), session.record_key.size());
  derive(2, (end == End::client ? session.frames.out : session.frames.in).data(), 32);
  derive(3, (end == End::client ? session.frames.in : session.frames.out).data(), 32);
  derive(4, seed.data(), seed.size());
  std::memcpy(&session.check_seed, seed.data(), sizeof session.check_seed);
  session.frames.kind = seal;
  sodium_memzero(root.data(), root.size());
  sodium_memzero(agreed.data(), agreed.size());
  sodium_memzero(&state, sizeof state);
  return true;
}

// Uses AES only where both ends have instructions for it.
transport::SealKind seal_for(transport::SealKind mine, transport::SealKind theirs) {
  const bool both =
      mine == transport::SealKind::aes_256_gcm && theirs == transport::SealKind::aes_256_gcm;
  return both ? transport::SealKind::aes_256_gcm : transport::SealKind::chacha20_poly1305;
}

// A message of fixed size, filled from the front; what is not filled stays zero.
template <std::size_t kSize>
class Message {
 public:
  template <typename T>
  void put(const T& value) {
    UNISONO_CHECK(sizeof value <= kSize - at_);
    std::memcpy(bytes_.data() + at_, &value, sizeof value);
    at_ += sizeof value;
  }
  std::span<const std::byte> filled() const { return std::span(bytes_).first(at_); }

 private:
  std::array<std::byte, kSize> bytes_{};
  std::size_t at_ = 0;
};

// The messages are far smaller than any socket buffer, so a short write means a dead socket.
bool send_whole(int fd, std::span<const std::byte> bytes) {
  return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(bytes.size());
}

enum class Filled : std::uint8_t { whole, not_yet, ended };

Filled fill(int fd, std::vector<std::byte>& buffer, std::size_t wanted) {
  std::byte chunk[kAnswerBytes];
  while (buffer.size() < wanted) {
    const ssize_t n =
        ::recv(fd, chunk, std::min(sizeof chunk, wanted - buffer.size()), MSG_DONTWAIT);
    if (n == 0) return Filled::ended;
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN || errno == EWOULDBLOCK ? Filled::not_yet : Filled::ended;
    }
    buffer.insert(buffer.end(), chunk, chunk + n);
  }
  return Filled::whole;
}

bool magic_fits(std::span<const std::byte> message) {
  return std::memcmp(message.data(), kMagic, sizeof kMagic) == 0;
}

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

JobKey make_job_key() {
  UNISONO_CHECK(sodium_init() >= 0);
  JobKey key;
  randombytes_buf(key.data(), key.size());
  return key;
}

KeyShare::KeyShare(Purpose purpose) {
  UNISONO_CHECK(sodium_init() >= 0);
  randombytes_buf(secret.data(), secret.size());
  if (purpose == Purpose::shm) {
    randombytes_buf(public_part.data(), public_part.size());
  } else {
    crypto_scalarmult_base(public_part.data(), secret.data());
  }
}
KeyShare::~KeyShare() {
  sodium_memzero(secret.data(), secret.size());
}

bool parse_hello(std::span<const std::byte> bytes, Hello& hello) {
  if (bytes.size() != kHelloBytes || !magic_fits(bytes)) return false;
  ByteReader in{bytes.subspan(sizeof kMagic)};
  hello.version = in.get<std::uint16_t>();
  hello.purpose = in.get<Purpose>();
  hello.seal = in.get<transport::SealKind>();
  hello.rank = in.get<std::int32_t>();
  hello.size = in.get<std::int32_t>();
  hello.to = in.get<std::int32_t>();
  hello.incarnation = in.get<std::uint32_t>();
  hello.turn = in.get<std::uint32_t>();
  return in.ok();
}

ClientHandshake::ClientHandshake(const JobKey& key, const Hello& hello)
    : key_(key), hello_(hello) {}
ClientHandshake::~ClientHandshake() {
  sodium_memzero(key_.data(), key_.size());
}

HandshakeState ClientHandshake::fail(Code code, std::string message) {
  stage_ = Stage::over;
  status_ = Status(code, std::move(message));
  return state_ = HandshakeState::failed;
}

HandshakeState ClientHandshake::step(int fd) {
  if (stage_ == Stage::hello) {
    share_ = KeyShare(hello_.purpose);
    Message<kHelloBytes> out;
    out.put(kMagic);
    out.put(hello_.version);
    out.put(hello_.purpose);
    out.put(hello_.seal);
    out.put(static_cast<std::int32_t>(hello_.rank));
    out.put(static_cast<std::int32_t>(hello_.size));
    out.put(static_cast<std::int32_t>(hello_.to));
    out.put(hello_.incarnation);
    out.put(hello_.turn);
    out.put(share_.public_part);
    transcript_.assign(out.filled().begin(), out.filled().end());
    if (!send_whole(fd, transcript_)) {
      return fail(Code::unavailable, cat("the connection to rank ", hello_.to, " broke"));
    }
    stage_ = Stage::answer;
  }
  if (stage_ == Stage::answer) {
    const Filled filled = fill(fd, incoming_, kAnswerBytes);
    if (filled == Filled::not_yet) return HandshakeState::pending;
    if (filled == Filled::ended) {
      return fail(Code::unavailable, cat("rank ", hello_.to, " closed the connection"));
    }
    if (check_answer(fd) == HandshakeState::failed) return state_;
  }
  if (stage_ == Stage::confirm) {
    const Filled filled = fill(fd, incoming_, kMacBytes);
    if (filled == Filled::not_yet) return HandshakeState::pending;
    if (filled == Filled::ended) {
      return fail(Code::unavailable, cat("rank ", hello_.to, " closed the connection"));
    }
    if (mac_holds(key_, Use::other_job, transcript_, incoming_)) {
      return fail(Code::refused, cat("another job with the same key answers in place of rank ",
                                     hello_.to));
    }
    if (!mac_holds(key_, Use::confirm, transcript_, incoming_)) {
      return fail(Code::refused, cat("rank ", hello_.to, " did not confirm this rank's proof"));
    }
    const auto seal = static_cast<transport::SealKind>(transcript_[kHelloBytes + kAnswerSealAt]);
    if (seal != seal_for(hello_.seal, seal) ||
        !make_session(key_, transcript_, hello_.purpose, share_, End::client, seal, session_)) {
      return fail(Code::refused, cat("rank ", hello_.to, " answered with keys that make no sense"));
    }
    share_ = KeyShare();
    stage_ = Stage::over;
    state_ = HandshakeState::done;
  }
  return state_;
}

HandshakeState ClientHandshake::check_answer(int fd) {
  if (!magic_fits(incoming_)) {
    return fail(Code::refused, cat("what answers in place of rank ", hello_.to, " is not unisono"));
  }
  ByteReader in{std::span<const std::byte>(incoming_).subspan(sizeof kMagic)};
  const auto version = in.get<std::uint16_t>();
  const auto verdict = in.get<Verdict>();
  if (version != hello_.version || verdict == Verdict::version_differs) {
    return fail(Code::refused, cat("rank ", hello_.to, " speaks protocol version ", version,
                                   ", this rank (", hello_.rank, ") speaks ", hello_.version,
                                   "; install the same unisono on every rank"));
  }
  const auto signed_part = std::span<const std::byte>(incoming_).first(kAnswerBytes - kMacBytes);
  std::vector<std::byte> heard = transcript_;
  append(heard, signed_part);
  if (!mac_holds(key_, Use::answer, heard, std::span(incoming_).last(kMacBytes))) {
    return fail(Code::refused, cat("rank ", hello_.to, " and this rank (", hello_.rank,
                                   ") hold different job keys; start every rank by the same "
                                   "launcher or give all the same UNISONO_KEY_FILE"));
  }
  append(transcript_, incoming_);
  const auto proof = mac_of(key_, Use::proof, transcript_);
  if (!send_whole(fd, proof)) {
    return fail(Code::unavailable, cat("the connection to rank ", hello_.to, " broke"));
  }
  append(transcript_, proof);
  incoming_.clear();
  stage_ = Stage::confirm;
  return HandshakeState::pending;
}

ServerHandshake::ServerHandshake(const JobKey& key, Rank self, std::uint16_t version,
                                 std::uint32_t incarnation)
    : key_(key), self_(self), version_(version), incarnation_(incarnation) {}
ServerHandshake::~ServerHandshake() {
  sodium_memzero(key_.data(), key_.size());
}

HandshakeState ServerHandshake::fail(std::string message) {
  stage_ = Stage::over;
  status_ = Status(Code::refused, std::move(message));
  return state_ = HandshakeState::failed;
}

HandshakeState ServerHandshake::step(int fd) {
  if (stage_ == Stage::hello) {
    const Filled filled = fill(fd, incoming_, kHelloBytes);
    // A client that does not speak the protocol is refused before its hello is complete.
    if (incoming_.size() >= sizeof kMagic && !magic_fits(incoming_)) return fail("not unisono");
    if (filled == Filled::not_yet) return HandshakeState::pending;
    if (filled == Filled::ended) return fail("left before its hello was whole");
    if (answer(fd) == HandshakeState::failed) return state_;
  }
  if (stage_ == Stage::proof) {
    const Filled filled = fill(fd, incoming_, kMacBytes);
    if (filled == Filled::not_yet) return HandshakeState::pending;
    if (filled == Filled::ended) return fail("left before it proved that it holds the job key");
    return check_proof(fd);
  }
  return state_;
}

HandshakeState ServerHandshake::answer(int fd) {
  // The magic has been checked already.
  UNISONO_CHECK(parse_hello(incoming_, hello_));
  const bool same_version = hello_.version == version_;

  Message<kAnswerBytes> out;
  out.put(kMagic);
  out.put(version_);
  out.put(same_version ? Verdict::welcome : Verdict::version_differs);
  out.put(seal_for(transport::fastest_seal(), hello_.seal));
  out.put(static_cast<std::int32_t>(self_));
  share_ = KeyShare(hello_.purpose);
  out.put(share_.public_part);
  transcript_ = std::move(incoming_);
  incoming_.clear();
  append(transcript_, out.filled());
  // The key is not used for clients of another version, so that they get no MAC to analyse.
  std::array<std::byte, kMacBytes> mac{};
  if (same_version) mac = mac_of(key_, Use::answer, transcript_);
  out.put(mac);
  append(transcript_, mac);
  if (!send_whole(fd, out.filled())) return fail("left before it was answered");
  if (!same_version) {
    return fail(cat("it claims to be rank ", hello_.rank, " and speaks protocol version ",
                    hello_.version, ", this rank (", self_, ") speaks ", version_));
  }
  stage_ = Stage::proof;
  return HandshakeState::pending;
}

HandshakeState ServerHandshake::check_proof(int fd) {
  if (!mac_holds(key_, Use::proof, transcript_, incoming_)) {
    return fail("it does not hold the job key");
  }
  if (hello_.to != self_) return fail(cat("it wants rank ", hello_.to));
  append(transcript_, incoming_);
  const bool is_known = hello_.purpose == Purpose::join || hello_.purpose == Purpose::shm;
  const bool is_lane = lane_of(hello_.purpose).has_value();
  if (!is_known && !is_lane) {
    return fail(cat("rank ", hello_.rank, " wants lane ",
                    static_cast<int>(hello_.purpose) - static_cast<int>(Purpose::control),
                    "; lane ", transport::kStripesMax, " is the last one a job can have"));
  }
  if (is_lane && hello_.incarnation != incarnation_) {
    (void)send_whole(fd, mac_of(key_, Use::other_job, transcript_));
    return fail("it belongs to another job with the same key");
  }
  const transport::SealKind seal = seal_for(transport::fastest_seal(), hello_.seal);
  if (!make_session(key_, transcript_, hello_.purpose, share_, End::server, seal, session_)) {
    return fail("its hello has a key that makes no sense");
  }
  share_ = KeyShare();
  if (!send_whole(fd, mac_of(key_, Use::confirm, transcript_))) {
    return fail("left before it was confirmed");
  }
  stage_ = Stage::over;
  return state_ = HandshakeState::done;
}

}  // namespace unisono::rendezvous
