// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Requests and responses: what decodes is encoded to the same bytes again.
#include "model/response.hpp"
#include "target.hpp"

namespace unisono::fuzz {
namespace {

Request example() {
  Request request;
  request.name = "layer.weight";
  request.shape = {3, 4};
  request.codec = "bf16";
  request.group = "g";
  request.group_size = 2;
  request.uneven = true;
  request.members = {0, 3};
  return request;
}

Bytes encoded(const Request& request) {
  ByteWriter out;
  encode_request(request, out);
  return out.take();
}

Bytes encoded(const Response& response) {
  ByteWriter out;
  encode_response(response, out);
  return out.take();
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  Choices choices(bytes);
  const bool response = choices.below(2) == 1;
  ByteReader in(choices.rest());
  if (!response) {
    const Request request = decode_request(in);
    if (!in.finished()) return;
    must(encoded(request) == Bytes(choices.rest().begin(), choices.rest().end()),
         "a request reads as another than it is");
    static_cast<void>(request.bytes());
    return;
  }
  const Response answer = decode_response(in);
  if (!in.finished()) return;
  // Without an error the message in the bytes is ignored, so the bytes need not be the same again.
  if (answer.error.ok()) return;
  must(encoded(answer) == Bytes(choices.rest().begin(), choices.rest().end()),
       "a response reads as another than it is");
}

std::vector<Bytes> seeds() {
  Response fine;
  fine.sequence = 7;
  fine.tensors = {example(), example()};
  fine.tensors[1].kind = Collective::allgather;
  fine.extents = {{}, {1, 2}};
  fine.absent = {1};
  Response bad;
  bad.error = Status(Code::mismatch, "shapes differ", {1, "host", 4711, "layer.weight"});
  bad.tensors = {example()};
  return {chosen(0, encoded(Request{})), chosen(0, encoded(example())), chosen(1, encoded(fine)),
          chosen(1, encoded(bad))};
}

}  // namespace unisono::fuzz
