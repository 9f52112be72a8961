// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// From a Python array to an Operation that reads, and perhaps writes, the array's own memory.
#pragma once

#include <string>
#include <string_view>

#include "bindings.hpp"
#include "unisono/unisono.hpp"

namespace unisono::python {

// DLPack's numbers for the 8-bit floats; not every nanobind names them.
inline constexpr int kDlpackF8e4m3 = 10;
inline constexpr int kDlpackF8e5m2 = 12;

// The array is anything with DLPack or the buffer protocol, C-contiguous and on the CPU; it is kept
// alive until the operation ends. dtype names the elements where the array shows only their bits
// (bfloat16 seen as int16); "" takes the array's word. Throws Failure when it cannot be used.
Operation operation_on(Collective kind, std::string name, std::string_view dtype,
                       nb::object array, bool in_place);

// The type under which DLPack shows elements; with bits, types that NumPy lacks are integers of
// their width.
nb::dlpack::dtype dlpack_type(DType dtype, bool bits);

// A mistake found while submitting is raised by the call that made it. What goes wrong later,
// with other ranks involved, is raised by whoever waits.
void raise_if_refused(const Ticket& ticket);

}  // namespace unisono::python
