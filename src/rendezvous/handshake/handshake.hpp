// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Both ends of a connection prove that they belong to the job, before anything else is sent.
//
//   client  hello    64 bytes  magic, version, purpose, seal, rank, size, to, incarnation, turn, share
//   server  answer   80 bytes  magic, version, verdict, seal, rank, share, MAC over hello + answer
//   client  proof    32 bytes  MAC over hello + answer
//   server  confirm  32 bytes  MAC over hello + answer + proof
//
// Each MAC has its own key, derived from the job key, so that none can be replayed as another one.
// A share is a public X25519 key made for this connection; because it is new, an old transcript is
// worthless. The keys of the session are derived from the secret that the two shares give, the job
// key and the transcript: somebody who steals the job key later cannot compute the keys of earlier
// sessions. (With purpose shm the share is 32 random bytes: the data never leaves the host, and a
// host with many ranks has many pairs.)
// The sizes, and the positions of magic and version, are the same in every version, so that ends of
// different versions can still name them.
// The server looks at nothing but magic and version before the proof holds.
//
// Thread: any, one at a time. Nothing blocks; reads never go past the message they expect.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/mesh/frame.hpp"
#include "transport/mesh/frame_seal.hpp"
#include "unisono/status.hpp"
#include "unisono/types.hpp"

namespace unisono::rendezvous {

inline constexpr std::uint16_t kProtocolVersion = 9;
inline constexpr std::size_t kKeyBytes = 32;
inline constexpr std::size_t kHelloBytes = 64;
inline constexpr std::size_t kAnswerBytes = 80;
inline constexpr std::size_t kMacBytes = 32;

using JobKey = std::array<unsigned char, kKeyBytes>;

JobKey make_job_key();

// From `control` on, one for each lane by its number: `data` is the first stripe of data, and up to
// seven more follow.
enum class Purpose : std::uint8_t { join = 0, shm = 1, control = 2, data = 3 };

inline Purpose purpose_of(transport::LaneId lane) {
  return static_cast<Purpose>(static_cast<std::uint8_t>(Purpose::control) + lane.number);
}
// Nothing where the purpose is no lane that a job could have.
inline std::optional<transport::LaneId> lane_of(Purpose purpose) {
  const int number = static_cast<int>(purpose) - static_cast<int>(Purpose::control);
  if (number < 0 || number > static_cast<int>(transport::kStripesMax)) return std::nullopt;
  return transport::LaneId{static_cast<std::uint8_t>(number)};
}

// The client's first message. The server trusts it only once the handshake is done.
struct Hello {
  std::uint16_t version = kProtocolVersion;
  Purpose purpose = Purpose::join;
  Rank rank = 0;
  int size = 1;
  Rank to = 0;
  transport::SealKind seal = transport::fastest_seal();
  // Which of the jobs that this key was used for; 0 while it is joining. A lane of another one is
  // refused, in words that only a holder of the key can say.
  std::uint32_t incarnation = 0;
  std::uint32_t turn = 0;               // of the lane's connection (transport/mesh/connector.hpp)
};

// The secrets that both ends share afterwards; different for every connection.
struct Session {
  transport::LaneSecret
      frames;  // out and in as seen from this end, with the fastest seal both ends have
  std::uint64_t check_seed = 0;
  std::array<unsigned char, 32> record_key{};
};

// The key that each end sends in its first message, and the secret that belongs to it.
struct KeyShare {
  std::array<unsigned char, 32> public_part{}, secret{};
  KeyShare() = default;
  explicit KeyShare(Purpose purpose);
  KeyShare(const KeyShare&) = default;
  KeyShare& operator=(const KeyShare&) = default;
  ~KeyShare();
};

// Parses the first message as it is on the wire; nothing in it is trusted yet.
bool parse_hello(std::span<const std::byte> bytes, Hello& hello);

enum class HandshakeState : std::uint8_t { pending, done, failed };

class ClientHandshake {
 public:
  ClientHandshake(const JobKey& key, const Hello& hello);
  ~ClientHandshake();
  // Sends and reads what it can on a connected, non-blocking socket.
  HandshakeState step(int fd);
  // refused: the other end differs in key or version. unavailable: it closed the connection; the
  // caller may try again.
  const Status& status() const { return status_; }
  const Session& session() const { return session_; }

 private:
  HandshakeState fail(Code code, std::string message);
  HandshakeState check_answer(int fd);

  JobKey key_;
  Hello hello_;
  KeyShare share_;
  std::vector<std::byte> transcript_, incoming_;
  enum class Stage : std::uint8_t { hello, answer, confirm, over } stage_ = Stage::hello;
  HandshakeState state_ = HandshakeState::pending;
  Status status_;
  Session session_;
};

class ServerHandshake {
 public:
  ServerHandshake(const JobKey& key, Rank self, std::uint16_t version = kProtocolVersion,
                  std::uint32_t incarnation = 0);
  ~ServerHandshake();
  HandshakeState step(int fd);
  const Status& status() const { return status_; }
  const Hello& hello() const { return hello_; }
  // Whether a whole hello has come; until then the client cannot be told from a port scan.
  bool greeted() const { return stage_ != Stage::hello; }
  const Session& session() const { return session_; }

 private:
  HandshakeState fail(std::string message);
  HandshakeState answer(int fd);
  HandshakeState check_proof(int fd);

  JobKey key_;
  Rank self_;
  std::uint16_t version_;
  std::uint32_t incarnation_;
  Hello hello_;
  KeyShare share_;
  std::vector<std::byte> transcript_, incoming_;
  enum class Stage : std::uint8_t { hello, proof, over } stage_ = Stage::hello;
  HandshakeState state_ = HandshakeState::pending;
  Status status_;
  Session session_;
};

}  // namespace unisono::rendezvous
