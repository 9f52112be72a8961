// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the codecs of an engine keep, and what they have done, for all its channels. A bucket claims
// what is kept of its tensors, works on that without any lock, and gives it back. Nobody else looks
// at what is claimed, so channels encode side by side, and statistics wait for none of them.
// Thread: any. Lives as long as the engine.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encode/feedback/feedback.hpp"
#include "unisono/codec_report.hpp"
#include "unisono/types.hpp"

namespace unisono::encode {

// Under which name a tensor of a process set is kept: sets other than the world have their own.
std::string kept_name(std::uint32_t set, std::string_view tensor);

// Why what is kept is neither given out nor taken in.
Status codecs_busy();

// Which names a part means.
class ChosenTensors {
 public:
  explicit ChosenTensors(const CodecPart& part);
  // A tensor, or a part of one, by its own name, and as kept_name() has it.
  bool has(std::string_view tensor) const;
  bool has_kept(std::string_view name) const;
  const std::string& prefix() const { return prefix_; }  // of kept names

 private:
  const std::string prefix_;
  const std::set<std::string, std::less<>> tensors_;
};

class CodecMemory {
 public:
  struct Claim {
    std::string name;
    TensorMemory* memory = nullptr;
  };

  // What is kept of a tensor, for one bucket until it gives it back. Operations of one name may be
  // on their way together, since persistent ones hold no name: the second has a memory of its own.
  // Waits only while the statistics read this very memory.
  Claim claim(std::string name);
  void give_back(std::span<const Claim> claims);

  // What a codec has done to a bucket: counts are added, and the last exchange is remembered. What
  // the claims keep counts in the codec's residual norm.
  void note(const CodecReport& done, std::span<const Claim> keep = {});
  // Of what is claimed just now, the norm is the one it had last.
  std::vector<CodecReport> reports();

  // The process set is gone, and what was kept of its tensors with it.
  void forget_set(std::uint32_t set);

  // Refused while something is claimed, which is about to change.
  Result<std::vector<std::byte>> save() const;
  Status load(std::span<const std::byte> state);
  // Of some tensors only, refused while one of these is claimed.
  Result<std::vector<std::byte>> save(const CodecPart& part) const;
  Status load(std::span<const std::byte> state, const CodecPart& part);
  Result<std::vector<float>> flush(std::string_view tensor);

 private:
  struct Use {
    CodecReport report;
    std::map<std::string, double, std::less<>> tensors;  // whose residuals count: their norms
  };
  Status check_idle(const ChosenTensors* chosen = nullptr) const;
  double norm_of(std::unique_lock<std::mutex>& lock, const std::string& name, double last);
  void forget(const std::string& name);

  mutable std::mutex mutex_;
  std::condition_variable read_ended_;
  const TensorMemory* read_ = nullptr;      // outside the lock, by the statistics
  std::mutex reading_;                      // one reader at a time
  Feedback feedback_;
  std::set<std::string, std::less<>> claimed_;
  std::set<std::string, std::less<>> doomed_;  // claimed, of a set that is gone
  std::map<std::string, Use, std::less<>> uses_;
};

}  // namespace unisono::encode
