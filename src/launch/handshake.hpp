// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Proving to each other that both ends belong to the job, before anything else is said.
//
//   client  hello    64 bytes  magic, version, purpose, rank, size, to, nonce
//   server  answer   80 bytes  magic, version, verdict, rank, nonce, MAC over hello + answer
//   client  proof    32 bytes  MAC over hello + answer
//   server  confirm  32 bytes  MAC over hello + answer + proof
//
// Each MAC has its own key, derived from the job key, so none can be played back as another; the
// fresh nonces make an old transcript worthless. The sizes, and the places of magic and version,
// are the same in every version, so that ends of different versions can still name them.
// The server looks at nothing but magic and version before the proof holds.
//
// Thread: any one. Nothing blocks; reads never go past the message they expect.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "unisono/status.hpp"
#include "unisono/types.hpp"

namespace unisono {

inline constexpr std::uint16_t kProtocolVersion = 1;
inline constexpr std::size_t kKeyBytes = 32;
inline constexpr std::size_t kHelloBytes = 64;
inline constexpr std::size_t kAnswerBytes = 80;
inline constexpr std::size_t kMacBytes = 32;

using JobKey = std::array<unsigned char, kKeyBytes>;

JobKey make_job_key();

enum class Purpose : std::uint8_t { join = 0, shm = 1, control = 2, data = 3 };

// What the client says first. Trusted by the server only once the handshake is done.
struct Hello {
  std::uint16_t version = kProtocolVersion;
  Purpose purpose = Purpose::join;
  Rank rank = 0;
  int size = 1;
  Rank to = 0;
};

// What both ends share afterwards and nobody else knows.
struct Session {
  std::uint64_t check_seed = 0;
  std::array<unsigned char, 32> record_key{};
};

enum class HandshakeState : std::uint8_t { pending, done, failed };

class ClientHandshake {
 public:
  ClientHandshake(const JobKey& key, const Hello& hello);
  ~ClientHandshake();
  // Sends and reads what it can on a connected, non-blocking socket.
  HandshakeState step(int fd);
  // refused: the other end differs in key or version. unavailable: it went away; worth a retry.
  const Status& status() const { return status_; }
  const Session& session() const { return session_; }

 private:
  HandshakeState fail(Code code, std::string message);
  HandshakeState check_answer(int fd);

  JobKey key_;
  Hello hello_;
  std::vector<std::byte> transcript_, incoming_;
  enum class Stage : std::uint8_t { hello, answer, confirm, over } stage_ = Stage::hello;
  HandshakeState state_ = HandshakeState::pending;
  Status status_;
  Session session_;
};

class ServerHandshake {
 public:
  ServerHandshake(const JobKey& key, Rank self, std::uint16_t version = kProtocolVersion);
  ~ServerHandshake();
  HandshakeState step(int fd);
  const Status& status() const { return status_; }
  const Hello& hello() const { return hello_; }
  const Session& session() const { return session_; }

 private:
  HandshakeState fail(std::string message);
  HandshakeState answer(int fd);
  HandshakeState check_proof(int fd);

  JobKey key_;
  Rank self_;
  std::uint16_t version_;
  Hello hello_;
  std::vector<std::byte> transcript_, incoming_;
  enum class Stage : std::uint8_t { hello, proof, over } stage_ = Stage::hello;
  HandshakeState state_ = HandshakeState::pending;
  Status status_;
  Session session_;
};

}  // namespace unisono
