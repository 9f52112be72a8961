// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the engine asks of the kernel and the processor: system calls, descriptors, random numbers,
// instructions for AES. Pure, but for check_kernel().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/finding.hpp"

namespace unisono::tools {

struct KernelCall {
  std::string_view name;
  bool works = false;
  bool needed = false;
  std::string_view otherwise;  // what happens without it
};
Finding judge_kernel_calls(const std::vector<KernelCall>& calls);

Finding judge_descriptors(std::uint64_t soft, std::uint64_t hard);
// error: errno of getrandom, or 0.
Finding judge_random(int error);
// seal: the check of frames between hosts that this processor is fast with.
Finding judge_aes(bool has_instructions, std::string_view seal);

std::vector<Finding> check_kernel();

}  // namespace unisono::tools
