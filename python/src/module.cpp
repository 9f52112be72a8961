// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string_view.h>

#include "bindings.hpp"
#include "unisono/unisono.hpp"

NB_MODULE(_core, module) {
  using namespace unisono::python;
  module.doc() = "The engine of unisono; use the unisono package, which speaks in arrays.";
  module.attr("version") = unisono::version();
  bind_status(module);
  bind_types(module);
  bind_options(module);
  bind_ticket(module);
  bind_engine(module);
  bind_sparse(module);
}
