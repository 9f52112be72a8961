// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "bindings.hpp"

namespace unisono::python {
namespace {

void set_error(const Status& status) {
  const Culprit& who = status.culprit();
  nb::object error = nb::module_::import_("unisono.errors")
                         .attr("from_status")(code_name(status.code()), status.message(), who.rank,
                                              who.host, who.pid, who.tensor, status.retryable());
  PyErr_SetObject(error.type().ptr(), error.ptr());
}

}  // namespace

void raise_unless_ok(const Status& status) {
  if (!status.ok()) throw Failure(status);
}

void bind_status(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      set_error(failure.status());
    }
  });
}

}  // namespace unisono::python
