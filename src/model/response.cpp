// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/response.hpp"

namespace unisono {

void encode_response(const Response& r, ByteWriter& out) {
  out.put(r.sequence);
  out.put(r.set);
  out.put(r.error.code());
  out.put_text(r.error.message());
  out.put(static_cast<std::int32_t>(r.error.culprit().rank));
  out.put_text(r.error.culprit().host);
  out.put(r.error.culprit().pid);
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
  const auto code = in.get<Code>();
  std::string message = in.get_text();
  Culprit culprit;
  culprit.rank = in.get<std::int32_t>();
  culprit.host = in.get_text();
  culprit.pid = in.get<std::int64_t>();
  culprit.tensor = in.get_text();
  if (code < Code::ok || code > Code::internal) in.fail();
  r.error = Status(code, std::move(message), std::move(culprit));
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
