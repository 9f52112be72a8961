// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "array.hpp"
#include "bindings.hpp"
#include "member.hpp"
#include "unisono/unisono.hpp"

namespace unisono::python {
namespace {

// Indices and values are of one length, which the caller has seen to; the engine copies both.
Ticket submit_sparse(Member& self, Collective kind, const std::string& name,
                     std::string_view dtype, nb::object indices, nb::object values,
                     std::int64_t length, const SparseSettings& settings) {
  release_dropped();
  const Operation at = operation_on(kind, name, "", std::move(indices), false);
  const Operation what = operation_on(kind, name, dtype, std::move(values), false);
  const auto same = at.shape.size() == 1 && at.shape == what.shape;
  const SparseOperand operand{
      .dtype = what.dtype,
      .index_dtype = at.dtype,
      .count = same ? static_cast<std::size_t>(at.shape.front()) : SIZE_MAX,
      .indices = at.input,
      .values = what.input,
      .length = length};
  Ticket ticket;
  {
    const nb::gil_scoped_release unlocked;
    ticket = kind == Collective::sparse_allgather
                 ? self.engine().sparse_allgather(name, operand, settings)
                 : self.engine().sparse_allreduce(name, operand, settings);
  }
  raise_if_refused(ticket);
  return ticket;
}

nb::capsule keep_result(const SparseResult& result) {
  return nb::capsule(new SparseResult(result),
                     [](void* held) noexcept { delete static_cast<SparseResult*>(held); });
}

// Without a copy; the memory lives as long as the array does.
nb::ndarray<nb::array_api> values_of(const SparseResult& self, bool bits) {
  static std::byte nothing;
  // The claim is this caller's alone, so handing it out for writing disturbs nobody.
  void* data = self.values.empty() ? &nothing : const_cast<std::byte*>(self.values.data());
  const std::size_t shape[] = {self.count};
  return {data, 1, shape, keep_result(self), nullptr, dlpack_type(self.dtype, bits)};
}

nb::ndarray<nb::array_api> indices_of(const SparseResult& self) {
  auto* all = new std::int64_t[self.count == 0 ? 1 : self.count];
  const nb::capsule owner(
      all, [](void* held) noexcept { delete[] static_cast<std::int64_t*>(held); });
  for (std::size_t i = 0; i < self.count; ++i) all[i] = self.index(i);
  const std::size_t shape[] = {self.count};
  return {all, 1, shape, owner, nullptr, dlpack_type(DType::i64, false)};
}

}  // namespace

void bind_sparse(nb::module_& module) {
  nb::class_<SparseSettings>(module, "SparseSettings")
      .def("__init__",
           [](SparseSettings* self, ReduceOp op, double prescale, double postscale,
              ProcessSetId set, int priority, int team, std::string algorithm,
              std::uint64_t expected_nnz, bool allow_loss, std::uint64_t top_k, bool same_indices,
              bool refuse_overlap) {
             new (self) SparseSettings{.op = op, .prescale = prescale, .postscale = postscale,
                                       .process_set = set, .priority = priority, .team = team,
                                       .algorithm = std::move(algorithm),
                                       .expected_nnz = expected_nnz, .allow_loss = allow_loss,
                                       .top_k = top_k, .same_indices = same_indices,
                                       .refuse_overlap = refuse_overlap, .on_done = {}};
           },
           nb::arg("op") = ReduceOp::average, nb::arg("prescale") = 1.0,
           nb::arg("postscale") = 1.0, nb::arg("process_set") = kWorld, nb::arg("priority") = 0,
           nb::arg("team") = 0, nb::arg("algorithm") = "", nb::arg("expected_nnz") = 0,
           nb::arg("allow_loss") = false, nb::arg("top_k") = 0, nb::arg("same_indices") = false,
           nb::arg("refuse_overlap") = false)
      .def_ro("process_set", &SparseSettings::process_set);
  nb::class_<SparseResult>(module, "SparseResult", "Indices and values that a ticket claimed.")
      .def_ro("count", &SparseResult::count)
      .def_ro("length", &SparseResult::length)
      .def_ro("dense", &SparseResult::dense)
      .def_prop_ro("algorithm", [](const SparseResult& self) { return self.algorithm; })
      .def("indices", &indices_of)
      .def("output", &values_of, nb::arg("bits") = false, "The values, as Ticket.output() does.");
  module.def("submit_sparse", &submit_sparse);
  module.def("sparse_result",
             [](const Ticket& ticket) { return ticket.sparse().as_pairs(); },
             nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace unisono::python
