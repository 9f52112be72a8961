// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "array.hpp"

#include <optional>
#include <utility>

namespace unisono::python {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw Failure(Status(Code::invalid_argument, name + ": " + why, {-1, "", 0, name}));
}

// The element type an array declares, or nullopt when unisono does not carry it.
std::optional<DType> dtype_of_array(nb::dlpack::dtype type) {
  using Kind = nb::dlpack::dtype_code;
  if (type.lanes != 1) return std::nullopt;
  const std::string bits = std::to_string(type.bits);
  if (type.code == kDlpackF8e4m3) return DType::f8e4m3;
  if (type.code == kDlpackF8e5m2) return DType::f8e5m2;
  switch (static_cast<Kind>(type.code)) {
    case Kind::Float: return dtype_from("float" + bits);
    case Kind::Int: return dtype_from("int" + bits);
    case Kind::UInt: return dtype_from("uint" + bits);
    case Kind::Bfloat: return type.bits == 16 ? std::optional(DType::bf16) : std::nullopt;
    case Kind::Bool: return type.bits == 8 ? std::optional(DType::boolean) : std::nullopt;
    default: return std::nullopt;
  }
}

template <typename Array>
bool is_contiguous(const Array& array) {
  if (array.size() <= 1) return true;
  std::int64_t expected = 1;
  for (std::size_t i = array.ndim(); i-- > 0;) {
    if (array.shape(i) != 1 && array.stride(i) != expected) return false;
    expected *= static_cast<std::int64_t>(array.shape(i));
  }
  return true;
}

template <typename Array>
Operation describe(Collective kind, std::string name, std::string_view dtype, Array array) {
  if (array.device_type() != nb::device::cpu::value) {
    refuse(name, "the tensor is on an accelerator and this engine moves CPU memory; pass "
                 "tensor.cpu(), or a NumPy array");
  }
  const auto declared = dtype_of_array(array.dtype());
  const auto element = dtype.empty() ? declared : dtype_from(dtype);
  if (!element || 8 * size_of(*element) != array.dtype().bits) {
    refuse(name, "unisono does not carry this element type; cast the tensor to one of "
                 "unisono.dtypes first");
  }
  if (!is_contiguous(array)) {
    refuse(name, "the tensor is not contiguous and its framework is not known here; pass a "
                 "contiguous copy");
  }
  Operation operation;
  operation.kind = kind;
  operation.name = std::move(name);
  operation.dtype = *element;
  for (std::size_t i = 0; i < array.ndim(); ++i) {
    operation.shape.push_back(static_cast<std::int64_t>(array.shape(i)));
  }
  operation.input = array.data();
  // The DLPack handle is what keeps the memory: the Python object need not be its owner.
  operation.keep_alive = keep(std::move(array));
  return operation;
}

}  // namespace

Operation operation_on(Collective kind, std::string name, std::string_view dtype,
                       nb::object array, bool in_place) {
  if (in_place) {
    nb::ndarray<> writable;
    if (!nb::try_cast(array, writable, false)) {
      refuse(name, "an in-place operation needs a writable array; this one is read-only or no "
                   "array at all. Pass a copy, or use the out-of-place form");
    }
    void* output = writable.data();
    Operation operation = describe(kind, std::move(name), dtype, std::move(writable));
    operation.output = output;
    return operation;
  }
  nb::ndarray<nb::ro> readable;
  if (!nb::try_cast(array, readable, false)) {
    refuse(name, "this object gives no access to its memory by DLPack or the buffer protocol");
  }
  return describe(kind, std::move(name), dtype, std::move(readable));
}

}  // namespace unisono::python
