/* SPDX-FileCopyrightText: 2026 the unisono authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The C interface in one page: every rank brings its rank, all leave with the sum.
 *
 *   unisono run -np 4 examples/c_allreduce
 */
#include <stdio.h>

#include "unisono/unisono.h"

static int fail(const char *what) {
  fprintf(stderr, "c_allreduce: %s: %s\n", what, unisono_last_error());
  return 1;
}

int main(void) {
  unisono_engine *engine = NULL;
  if (unisono_join(NULL, &engine)) return fail("join");
  const int rank = unisono_rank(engine);
  const int size = unisono_size(engine);

  float values[4] = {(float)rank, (float)rank + 1, (float)rank + 2, (float)rank + 3};
  const int64_t shape[1] = {4};
  unisono_call call = unisono_call_init();
  call.op = UNISONO_SUM;
  unisono_ticket *ticket = NULL;
  if (unisono_allreduce(engine, "values", UNISONO_F32, 1, shape, values, values, &call, &ticket)) {
    return fail("allreduce");
  }
  if (unisono_wait(ticket, -1)) return fail("wait");
  unisono_ticket_free(ticket);

  const float expected = (float)(size * (size - 1)) / 2;
  int wrong = 0;
  for (int i = 0; i < 4; ++i) wrong |= values[i] != expected + (float)(i * size);
  printf("rank %d of %d: sum = %g %g %g %g%s\n", rank, size, (double)values[0], (double)values[1],
         (double)values[2], (double)values[3], wrong ? "  WRONG" : "");
  unisono_leave(engine);
  return wrong;
}
