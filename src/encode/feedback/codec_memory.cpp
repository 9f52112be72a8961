// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "encode/feedback/codec_memory.hpp"

#include <algorithm>
#include <cmath>

#include "base/data/text.hpp"

namespace unisono::encode {
namespace {

constexpr char kSetMark = '\x1f';            // in no name that people write

constexpr char kAgain = '\x1e';               // neither

std::string set_prefix(std::uint32_t set) { return cat(kSetMark, set, "/"); }

TensorMemory shared_of(const TensorMemory& memory) {
  return {.residual = {}, .velocity = {}, .factor = memory.factor, .steps = memory.steps};
}

void share(TensorMemory& to, TensorMemory from) {
  to.factor = std::move(from.factor);
  to.steps = from.steps;
}

}  // namespace

std::string kept_name(std::uint32_t set, std::string_view tensor) {
  return set == 0 ? std::string(tensor) : cat(set_prefix(set), tensor);
}

ChosenTensors::ChosenTensors(const CodecPart& part)
    : prefix_(part.process_set == 0 ? std::string() : set_prefix(part.process_set)),
      tensors_(part.tensors.begin(), part.tensors.end()) {}

bool ChosenTensors::has(std::string_view tensor) const {
  return tensors_.contains(tensor) || tensors_.contains(tensor.substr(0, tensor.rfind("/part.")));
}

bool ChosenTensors::has_kept(std::string_view name) const {
  if (!name.starts_with(prefix_)) return false;
  name.remove_prefix(prefix_.size());
  while (name.ends_with(kAgain)) name.remove_suffix(1);
  return has(name);
}

Status codecs_busy() {
  return Status(Code::invalid_argument, "an allreduce with a codec is on its way, and changes what "
                                        "the codec keeps; wait for it first");
}

CodecMemory::Claim CodecMemory::claim(std::string name) {
  std::unique_lock lock(mutex_);
  while (!claimed_.insert(name).second) name += kAgain;
  TensorMemory& memory = feedback_.of(name);
  read_ended_.wait(lock, [&] { return read_ != &memory; });
  return {std::move(name), &memory};
}

void CodecMemory::give_back(std::span<const Claim> claims) {
  const std::lock_guard lock(mutex_);
  for (const Claim& claim : claims) {
    claimed_.erase(claim.name);
    if (doomed_.erase(claim.name) != 0) forget(claim.name);
  }
}

void CodecMemory::note(const CodecReport& done, std::span<const Claim> keep) {
  const std::lock_guard lock(mutex_);
  Use& use = uses_[done.codec];
  CodecReport& report = use.report;
  report.codec = done.codec;
  report.tensors += done.tensors;
  report.skipped += done.skipped;
  report.bytes += done.bytes;
  report.packed_bytes += done.packed_bytes;
  if (!done.exchange.empty()) report.exchange = done.exchange;
  for (const Claim& claim : keep) {
    if (!doomed_.contains(claim.name)) use.tensors.try_emplace(claim.name, 0.0);
  }
}

// The lock is not held while the residual is read.
double CodecMemory::norm_of(std::unique_lock<std::mutex>& lock, const std::string& name,
                            double last) {
  if (claimed_.contains(name)) return last;
  const TensorMemory* memory = feedback_.find(name);
  if (memory == nullptr) return 0;
  read_ = memory;
  lock.unlock();
  const double norm = norm_of_residual(*memory);
  lock.lock();
  read_ = nullptr;
  read_ended_.notify_all();
  return norm;
}

std::vector<CodecReport> CodecMemory::reports() {
  const std::lock_guard one(reading_);
  std::unique_lock lock(mutex_);
  std::vector<CodecReport> out;
  // Others may add codecs and tensors while the lock is given up, which moves none of what is here.
  for (auto& [codec, use] : uses_) {
    double square = 0;
    std::vector<std::string> names;
    for (const auto& [name, norm] : use.tensors) names.push_back(name);
    for (const std::string& name : names) {
      const auto found = use.tensors.find(name);
      if (found == use.tensors.end()) continue;
      const double norm = norm_of(lock, name, found->second);
      if (const auto still = use.tensors.find(name); still != use.tensors.end()) {
        still->second = norm;
      }
      square += norm * norm;
    }
    out.push_back(use.report);
    out.back().residual_norm = std::sqrt(square);
  }
  return out;
}

void CodecMemory::forget(const std::string& name) {
  feedback_.forget(name);
  for (auto& [codec, use] : uses_) use.tensors.erase(name);
}

void CodecMemory::forget_set(std::uint32_t set) {
  if (set == 0) return;
  const std::string prefix = set_prefix(set);
  std::unique_lock lock(mutex_);
  for (const std::string& name : feedback_.names(prefix)) {
    if (claimed_.contains(name)) {
      doomed_.insert(name);
      continue;
    }
    read_ended_.wait(lock, [&] { return read_ == nullptr || read_ != feedback_.find(name); });
    // Somebody may have claimed it meanwhile.
    claimed_.contains(name) ? static_cast<void>(doomed_.insert(name)) : forget(name);
  }
}

Status CodecMemory::check_idle(const ChosenTensors* chosen) const {
  const bool busy = std::any_of(claimed_.begin(), claimed_.end(), [&](const std::string& name) {
    return chosen == nullptr || chosen->has_kept(name);
  });
  return busy ? codecs_busy() : Status();
}

Result<std::vector<std::byte>> CodecMemory::save() const {
  const std::lock_guard lock(mutex_);
  if (auto status = check_idle(); !status) return status;
  return feedback_.save();
}

Status CodecMemory::load(std::span<const std::byte> state) {
  Feedback read;
  if (auto status = read.load(state); !status) return status;
  std::unique_lock lock(mutex_);
  read_ended_.wait(lock, [&] { return read_ == nullptr; });
  if (auto status = check_idle(); !status) return status;
  feedback_ = std::move(read);
  return {};
}

Result<std::vector<std::byte>> CodecMemory::save(const CodecPart& part) const {
  const ChosenTensors chosen(part);
  const std::lock_guard lock(mutex_);
  if (auto status = check_idle(&chosen); !status) return status;
  Feedback out;
  for (const std::string& name : feedback_.names(chosen.prefix())) {
    if (!chosen.has_kept(name)) continue;
    const TensorMemory& memory = *feedback_.find(name);
    out.of(name) = part.shared ? shared_of(memory) : memory;
  }
  return out.save();
}

Status CodecMemory::load(std::span<const std::byte> state, const CodecPart& part) {
  const ChosenTensors chosen(part);
  Feedback read;
  if (auto status = read.load(state); !status) return status;
  std::unique_lock lock(mutex_);
  read_ended_.wait(lock, [&] { return read_ == nullptr; });
  if (auto status = check_idle(&chosen); !status) return status;
  for (const std::string& name : feedback_.names(chosen.prefix())) {
    if (!chosen.has_kept(name)) continue;
    part.shared ? share(feedback_.of(name), {}) : feedback_.forget(name);
  }
  for (const std::string& name : read.names(chosen.prefix())) {
    if (!chosen.has_kept(name)) continue;
    TensorMemory& memory = read.of(name);
    if (part.shared) {
      share(feedback_.of(name), std::move(memory));
    } else {
      feedback_.of(name) = std::move(memory);
    }
  }
  return {};
}

Result<std::vector<float>> CodecMemory::flush(std::string_view tensor) {
  std::unique_lock lock(mutex_);
  read_ended_.wait(lock, [&] { return read_ == nullptr; });
  if (auto status = check_idle(); !status) return status;
  return feedback_.flush(tensor);
}

}  // namespace unisono::encode
