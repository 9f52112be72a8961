// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the simulator reads: traces of a step, and networks given as numbers.
#include <sys/mman.h>
#include <unistd.h>

#include "base/os/fd.hpp"
#include "base/data/text.hpp"
#include "sim/network/network.hpp"
#include "simulate/trace.hpp"
#include "target.hpp"

namespace unisono::fuzz {

void take_apart(std::span<const std::byte> bytes) {
  static_cast<void>(sim::parse_network(text_of(bytes)));
  const Fd file(::memfd_create("trace", MFD_CLOEXEC));
  must(file.valid() && ::write(file.get(), bytes.data(), bytes.size()) ==
                           static_cast<ssize_t>(bytes.size()),
       "no memory for a trace");
  auto workload = tools::read_trace(cat("/proc/self/fd/", file.get()));
  if (!workload) return;
  must(!workload->tensors.empty() && workload->compute_us > 0, "a step of nothing");
  for (const auto& tensor : workload->tensors) {
    must(tensor.bytes > 0, "a tensor of nothing");
    must(tensor.forward_us >= 0 && tensor.forward_us <= tensor.ready_us, "backward came first");
  }
  must(workload->bytes() > 0, "bytes that cannot be counted");
}

std::vector<Bytes> seeds() {
  return {bytes_of(R"({"tensors":[{"name":"a","bytes":400,"ready_us":10.5},)"
                   R"({"name":"b","bytes":8,"ready_us":2}],"compute_us":20})"),
          bytes_of(R"({"tensors":[{"name":"a","bytes":400,"ready_us":10.5,"forward_us":4}],)"
                   R"("compute_us":20,"forward_us":7})"),
          bytes_of("alpha=5e-5,beta=1e-9,gamma=1e-10"), bytes_of("summit")};
}

}  // namespace unisono::fuzz
