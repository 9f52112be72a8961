// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string_view.h>

#include "bindings.hpp"
#include "unisono/types.hpp"

namespace unisono::python {

void bind_types(nb::module_& module) {
  nb::enum_<ReduceOp>(module, "ReduceOp", nb::is_arithmetic())
      .value("Sum", ReduceOp::sum)
      .value("Average", ReduceOp::average)
      .value("Min", ReduceOp::min)
      .value("Max", ReduceOp::max)
      .value("Product", ReduceOp::product)
      .value("And", ReduceOp::logical_and)
      .value("Or", ReduceOp::logical_or)
      .value("Adasum", ReduceOp::adasum);
  nb::enum_<Collective>(module, "Collective")
      .value("allreduce", Collective::allreduce)
      .value("allgather", Collective::allgather)
      .value("broadcast", Collective::broadcast)
      .value("reducescatter", Collective::reducescatter)
      .value("alltoall", Collective::alltoall)
      .value("sparse_allreduce", Collective::sparse_allreduce)
      .value("sparse_allgather", Collective::sparse_allgather);

  nb::list dtypes;
  for (int i = 0; i < kDTypeCount; ++i) dtypes.append(name_of(static_cast<DType>(i)));
  module.attr("dtypes") = nb::frozenset(dtypes);
}

}  // namespace unisono::python
