// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the codecs of an engine keep, and what they have done, for all its channels.
// Thread: any that holds the mutex. Lives as long as the engine.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "encode/feedback/feedback.hpp"
#include "unisono/codec_report.hpp"

namespace unisono::encode {

class CodecMemory {
 public:
  std::mutex mutex;
  Feedback feedback;
  int under_way = 0;                        // buckets that point into the feedback

  // A bucket points into what is kept under a name until it gives that back. Operations of one name may
  // be on their way together, since persistent ones hold no name: the second has a memory of its own.
  std::string claim(std::string name) {
    while (!claimed_.insert(name).second) name += kAgain;
    return name;
  }
  void give_back(const std::string& name) { claimed_.erase(name); }

  struct Use {
    CodecReport report;
    std::set<std::string, std::less<>> tensors;  // whose residuals count
  };
  Use& use_of(const std::string& codec) {
    Use& use = uses_[codec];
    use.report.codec = codec;
    return use;
  }
  std::vector<CodecReport> reports() const {
    std::vector<CodecReport> out;
    for (const auto& [codec, use] : uses_) {
      out.push_back(use.report);
      out.back().residual_norm = feedback.norm(use.tensors);
    }
    return out;
  }

 private:
  static constexpr char kAgain = '\x1e';     // in no name that people write

  std::set<std::string> claimed_;
  std::map<std::string, Use, std::less<>> uses_;
};

}  // namespace unisono::encode
