// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "encode/feedback/feedback.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/data/bytes.hpp"
#include "base/data/text.hpp"
#include "kernels/linear.hpp"

namespace unisono::encode {
namespace {

constexpr std::uint32_t kStateMagic = 0x42464355;  // "UCFB"
constexpr std::uint32_t kStateVersion = 1;

// Lengths of 64 bits: residuals may have more than 2^32 elements.
void put_floats(ByteWriter& out, const std::vector<float>& values) {
  out.put(static_cast<std::uint64_t>(values.size()));
  out.put_raw(std::as_bytes(std::span(values)));
}

std::vector<float> get_floats(ByteReader& in) {
  const auto count = in.get<std::uint64_t>();
  if (!in.can_hold(count, sizeof(float))) return {};
  const auto raw = in.get_raw(count * sizeof(float));
  std::vector<float> values(count);
  if (!raw.empty()) std::memcpy(values.data(), raw.data(), raw.size());
  return values;
}

bool add(std::vector<float>& to, const std::vector<float>& from) {
  if (from.empty()) return true;
  if (to.empty()) to.assign(from.size(), 0.0F);
  if (to.size() != from.size()) return false;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  return true;
}

double square_of(const std::vector<float>& values) {
  double sum = 0;
  const void* input = values.data();
  kernels::add_gram(DType::f32, {&input, 1}, values.size(), {&sum, 1});
  return sum;
}

}  // namespace

double norm_of_residual(const TensorMemory& memory) {
  return std::sqrt(square_of(memory.residual));
}

TensorMemory& Feedback::of(std::string_view tensor) {
  const auto found = memories_.find(tensor);
  if (found != memories_.end()) return found->second;
  return memories_[std::string(tensor)];
}

const TensorMemory* Feedback::find(std::string_view tensor) const {
  const auto found = memories_.find(tensor);
  return found == memories_.end() ? nullptr : &found->second;
}

double Feedback::norm() const {
  double sum = 0;
  for (const auto& [name, memory] : memories_) sum += square_of(memory.residual);
  return std::sqrt(sum);
}

std::vector<std::string> Feedback::names(std::string_view prefix) const {
  std::vector<std::string> out;
  for (auto it = memories_.lower_bound(prefix);
       it != memories_.end() && it->first.starts_with(prefix); ++it) {
    out.push_back(it->first);
  }
  return out;
}

void Feedback::forget(std::string_view tensor) {
  if (const auto found = memories_.find(tensor); found != memories_.end()) memories_.erase(found);
}

std::vector<float> Feedback::flush(std::string_view tensor) {
  const auto found = memories_.find(tensor);
  if (found == memories_.end()) return {};
  found->second.velocity.clear();
  return std::exchange(found->second.residual, {});
}

std::vector<std::byte> Feedback::save() const {
  ByteWriter out;
  out.put(kStateMagic);
  out.put(kStateVersion);
  out.put(static_cast<std::uint64_t>(memories_.size()));
  for (const auto& [name, memory] : memories_) {
    out.put_text(name);
    out.put(memory.steps);
    put_floats(out, memory.residual);
    put_floats(out, memory.velocity);
    put_floats(out, memory.factor);
  }
  return out.take();
}

Status Feedback::load(std::span<const std::byte> state) {
  ByteReader in(state);
  const bool known =
      in.get<std::uint32_t>() == kStateMagic && in.get<std::uint32_t>() == kStateVersion;
  const auto tensors = in.get<std::uint64_t>();
  decltype(memories_) read;
  for (std::uint64_t i = 0; known && i < tensors && in.ok(); ++i) {
    std::string name = in.get_text();
    TensorMemory memory;
    memory.steps = in.get<std::uint32_t>();
    memory.residual = get_floats(in);
    memory.velocity = get_floats(in);
    memory.factor = get_floats(in);
    if (in.ok() && !read.emplace(std::move(name), std::move(memory)).second) in.fail();
  }
  if (!known || !in.finished()) {
    return Status(Code::invalid_argument,
                  "what was given is not the state of codecs, or not all of it; give back what was "
                  "saved by this version");
  }
  memories_ = std::move(read);
  return {};
}

Result<std::vector<Feedback>> redistribute(std::span<const Feedback> ranks, std::size_t size) {
  if (size == 0) {
    return Status(Code::invalid_argument, "no rank is left to take the residuals; give a size of 1 "
                                          "or more");
  }
  std::vector<Feedback> out(size);
  std::map<std::string, TensorMemory, std::less<>> common;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (const auto& [name, memory] : ranks[r].memories_) {
      TensorMemory& to = out[r % size].of(name);
      if (!add(to.residual, memory.residual) || !add(to.velocity, memory.velocity)) {
        return Status(Code::mismatch, cat("ranks ", r % size, " and ", r, " kept residuals of "
                                          "different lengths for '", name, "'; restore states of "
                                          "one job"));
      }
      // Equal on all ranks; the most steps, so that no random number is drawn twice.
      TensorMemory& shared = common[name];
      shared.steps = std::max(shared.steps, memory.steps);
      if (shared.factor.empty()) shared.factor = memory.factor;
    }
  }
  for (Feedback& rank : out) {
    for (const auto& [name, shared] : common) {
      TensorMemory& memory = rank.of(name);
      memory.steps = shared.steps;
      memory.factor = shared.factor;
    }
  }
  return out;
}

}  // namespace unisono::encode
