// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Between libFuzzer and the target that is linked with this file.
#include <filesystem>
#include <fstream>

#include "base/data/text.hpp"
#include "target.hpp"

// With UNISONO_FUZZ_SEEDS=folder the target writes its seeds there and ends.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* folder = std::getenv("UNISONO_FUZZ_SEEDS");
  if (folder == nullptr) return 0;
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const auto& seed : unisono::fuzz::seeds()) {
    std::ofstream file(unisono::cat(folder, "/seed-", number++), std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()),
               static_cast<std::streamsize>(seed.size()));
  }
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  unisono::fuzz::take_apart(std::as_bytes(std::span(data, size)));
  return 0;
}
