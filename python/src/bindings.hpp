// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the files of the extension share. One bind_* per public header; module.cpp calls them.
// Every function here runs with the GIL held unless it says otherwise.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "unisono/status.hpp"

namespace unisono::python {

namespace nb = nanobind;

// Carries a Status to the translator, which raises the matching class of unisono.errors.
class Failure : public std::exception {
 public:
  explicit Failure(Status status) : status_(std::move(status)), text_(status_.to_string()) {}
  const Status& status() const { return status_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Status status_;
  std::string text_;
};

void raise_unless_ok(const Status& status);
template <typename T>
T value_or_raise(Result<T> result) {
  raise_unless_ok(result.status());
  return std::move(result).value();
}

// Keeps something of Python's alive for the engine. The last copy may be dropped on any thread,
// with or without the GIL: it is destroyed later, by a thread that holds it, because an engine
// thread that waited for the GIL would delay every rank.
using Destroy = void (*)(void*);
std::shared_ptr<void> keep_until_dropped(void* held, Destroy destroy);
template <typename T>
std::shared_ptr<void> keep(T held) {
  return keep_until_dropped(new T(std::move(held)), [](void* p) { delete static_cast<T*>(p); });
}
// Releases what the engine has dropped since the last call.
void release_dropped();

void bind_status(nb::module_& module);
void bind_types(nb::module_& module);
void bind_options(nb::module_& module);
void bind_ticket(nb::module_& module);
void bind_engine(nb::module_& module);
void bind_sparse(nb::module_& module);

}  // namespace unisono::python
