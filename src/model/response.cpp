// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/response.hpp"

#include "base/data/status_bytes.hpp"

namespace unisono {

void encode_response(const Response& r, ByteWriter& out) {
  out.put(r.sequence);
  out.put(r.set);
  put_status(out, r.error);
  out.put_text(r.error.culprit().tensor);
  out.put(static_cast<std::uint32_t>(r.tensors.size()));
  for (const Request& tensor : r.tensors) encode_request(tensor, out);
  out.put(static_cast<std::uint32_t>(r.extents.size()));
  for (const auto& extents : r.extents) out.put_list(extents);
  out.put_list(r.absent);
  out.put(r.value);
}

Response decode_response(ByteReader& in) {
  Response r;
  r.sequence = in.get<std::uint64_t>();
  r.set = in.get<SetId>();
  r.error = get_status(in);
  if (std::string tensor = in.get_text(); !tensor.empty()) {
    Culprit culprit = r.error.culprit();
    culprit.tensor = std::move(tensor);
    r.error = Status(r.error.code(), r.error.message(), std::move(culprit));
  }
  const auto tensors = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < tensors && in.ok(); ++i) r.tensors.push_back(decode_request(in));
  const auto extents = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < extents && in.ok(); ++i) {
    r.extents.push_back(in.get_list<std::int64_t>());
  }
  r.absent = in.get_list<std::uint32_t>();
  r.value = in.get<std::int64_t>();
  return r;
}

}  // namespace unisono
