// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "bindings.hpp"
#include "unisono/options.hpp"

namespace unisono::python {

void bind_options(nb::module_& module) {
  nb::class_<Options>(module, "Options",
                      "Everything that can be configured; see Options.keys() for the names.")
      .def(nb::init<>())
      .def_static("from_environment", [] { return value_or_raise(Options::from_environment()); },
                  "The options that UNISONO_* and HOROVOD_* variables give.")
      .def_static("keys",
                  [] {
                    nb::list keys;
                    for (const OptionRow& row : option_table()) keys.append(row.key);
                    return keys;
                  })
      .def("set",
           [](Options& self, std::string_view key, std::string_view value) {
             raise_unless_ok(self.set(key, value));
           },
           nb::arg("key"), nb::arg("value"))
      .def("get", &Options::get, nb::arg("key"))
      .def("agreed_text", &Options::agreed_text)
      .def("copy", [](const Options& self) { return self; })
      .def("__repr__", [](const Options& self) {
        std::string text = "Options(";
        for (const OptionRow& row : option_table()) {
          if (text.back() != '(') text += ", ";
          text += std::string(row.key) + "=" + self.get(row.key);
        }
        return text + ")";
      });
}

}  // namespace unisono::python
