// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "array.hpp"
#include "bindings.hpp"
#include "unisono/unisono.hpp"

namespace unisono::python {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

// How long Ctrl-C may go unnoticed. Completion wakes the waiter at once, whatever this is.
constexpr nanoseconds kSignalPeriod = std::chrono::milliseconds(100);
constexpr double kForeverS = 1e9;

Status wait_slice(const Ticket& ticket, nanoseconds limit) {
  const nb::gil_scoped_release unlocked;
  return ticket.wait_for(limit);
}

void wait(const Ticket& ticket, std::optional<double> timeout_s) {
  const auto limit = std::chrono::duration_cast<nanoseconds>(
      std::chrono::duration<double>(std::clamp(timeout_s.value_or(kForeverS), 0.0, kForeverS)));
  const auto deadline = Clock::now() + limit;
  Status status;
  for (;;) {
    const nanoseconds left = deadline - Clock::now();
    status = wait_slice(ticket, std::clamp(left, nanoseconds::zero(), kSignalPeriod));
    if (status.code() != Code::timed_out) break;
    if (ticket.done()) {
      // It ended just after the slice did; its own status is what counts.
      status = wait_slice(ticket, nanoseconds::zero());
      break;
    }
    if (left <= kSignalPeriod) break;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  release_dropped();
  raise_unless_ok(status);
}

// The engine-owned result without a copy; it lives as long as the array does.
nb::ndarray<nb::array_api> output_array(const Ticket& ticket, bool bits) {
  static std::byte nothing;
  const Output output = ticket.output();
  const std::vector<std::size_t> shape(output.shape.begin(), output.shape.end());
  // The claim is this caller's alone, so handing it out for writing disturbs nobody.
  void* data = output.bytes.empty() ? &nothing : const_cast<std::byte*>(output.bytes.data());
  const nb::capsule owner(new Ticket(ticket),
                          [](void* held) noexcept { delete static_cast<Ticket*>(held); });
  return {data, shape.size(), shape.data(), owner, nullptr, dlpack_type(output.dtype, bits)};
}

}  // namespace

nb::dlpack::dtype dlpack_type(DType dtype, bool bits) {
  using Kind = nb::dlpack::dtype_code;
  Kind kind = Kind::Float;
  switch (dtype) {
    case DType::f32:
    case DType::f64:
    case DType::f16: break;
    case DType::bf16: kind = bits ? Kind::Int : Kind::Bfloat; break;
    case DType::f8e4m3: kind = bits ? Kind::UInt : Kind{kDlpackF8e4m3}; break;
    case DType::f8e5m2: kind = bits ? Kind::UInt : Kind{kDlpackF8e5m2}; break;
    case DType::boolean: kind = bits ? Kind::UInt : Kind::Bool; break;
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64: kind = Kind::Int; break;
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64: kind = Kind::UInt; break;
  }
  return {static_cast<std::uint8_t>(kind), static_cast<std::uint8_t>(8 * size_of(dtype)), 1};
}

void bind_ticket(nb::module_& module) {
  nb::class_<Ticket>(module, "Ticket", "A claim on one result.")
      .def_prop_ro("name", &Ticket::name)
      .def("done", &Ticket::done)
      .def("wait", &wait, nb::arg("timeout").none() = nb::none(),
           "Blocks until done, raising what went wrong. The GIL is released meanwhile.")
      .def("output", &output_array, nb::arg("bits") = false,
           "The result; with bits=True types that NumPy lacks come as integers of their width.")
      .def_prop_ro("splits", [](const Ticket& self) { return self.output().splits; })
      .def_prop_ro("value", [](const Ticket& self) { return self.output().value; });
}

}  // namespace unisono::python
