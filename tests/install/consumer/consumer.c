/* SPDX-FileCopyrightText: 2026 the unisono authors
 * SPDX-License-Identifier: Apache-2.0
 * The same as consumer.cpp through the C interface. */
#include <stdio.h>

#include "unisono/unisono.h"

static int fail(const char* what) {
  printf("%s: %s\n", what, unisono_last_error());
  return 1;
}

int main(void) {
  unisono_engine* engine = NULL;
  unisono_ticket* ticket = NULL;
  unisono_call call = unisono_call_init();
  float gradient[2] = {1.0f, 2.0f};
  const int64_t shape[] = {2};
  call.op = UNISONO_SUM;
  if (unisono_join(NULL, &engine)) return fail("join");
  if (unisono_allreduce(engine, "gradient", UNISONO_F32, 1, shape, gradient, gradient, &call,
                        &ticket)) {
    return fail("allreduce");
  }
  if (unisono_wait(ticket, -1)) return fail("wait");
  unisono_ticket_free(ticket);
  if (gradient[1] != 2.0f * (float)unisono_size(engine)) return fail("wrong sum");
  unisono_leave(engine);
  puts("ok");
  return 0;
}
