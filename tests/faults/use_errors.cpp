// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Misuse of the default engine, found where it happens: one line per mistake with its code and words.
// For a job of two ranks: rank 1 holds back so that what rank 0 submitted is surely in flight.
#include <sys/wait.h>
#include <unistd.h>

#include "json_line.hpp"
#include "unisono/status.hpp"
#include "unisono/unisono.h"

namespace {

int rank = 0;

void tell(const char* mistake, int code) {
  JsonLine("use", rank)
      .text("mistake", mistake)
      .text("code", unisono::code_name(static_cast<unisono::Code>(code)))
      .text("message", code == UNISONO_OK ? "" : unisono_last_error())
      .print();
}

int submit(const char* name, float* value, unisono_ticket** ticket) {
  const int64_t shape = 1;
  unisono_call call = unisono_call_init();
  call.op = UNISONO_SUM;
  return unisono_allreduce(nullptr, name, UNISONO_F32, 1, &shape, value, value, &call, ticket);
}

int finish(unisono_ticket* ticket) {
  const int code = unisono_wait(ticket, -1);
  unisono_ticket_free(ticket);
  return code;
}

// Everything a child may try with its parent's engine.
void use_in_child(unisono_ticket* ticket) {
  const pid_t child = ::fork();
  if (child == 0) {
    float value = 1;
    unisono_ticket* own = nullptr;
    tell("submit in a forked child", submit("child", &value, &own));
    tell("wait in a forked child", unisono_wait(ticket, 5));
    tell("barrier in a forked child", unisono_barrier(nullptr, 0));
    tell("init in a forked child", unisono_init());
    unisono_shutdown();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  JsonLine("child", rank).number("status", status).print();
}

}  // namespace

int use_errors() {
  float value = 1, other = 1;
  unisono_ticket* ticket = nullptr;
  unisono_ticket* second = nullptr;
  tell("submit before init", submit("early", &value, &ticket));
  tell("barrier before init", unisono_barrier(nullptr, 0));
  if (const int code = unisono_init(); code != UNISONO_OK) {
    tell("init", code);
    return 1;
  }
  rank = unisono_rank(nullptr);
  tell("init twice", unisono_init());
  tell("barrier after init twice", unisono_barrier(nullptr, 0));

  if (rank == 0) {
    tell("first of its name", submit("twin", &value, &ticket));
    tell("duplicate name", submit("twin", &other, &second));
    use_in_child(ticket);
  }
  tell("barrier after duplicate", unisono_barrier(nullptr, 0));
  if (rank != 0) submit("twin", &value, &ticket);
  tell("twin", finish(ticket));
  JsonLine("sum", rank).flag("right", value == 2 && other == 1).print();

  unisono_shutdown();
  tell("submit after shutdown", submit("late", &value, &ticket));
  tell("shutdown twice", unisono_shutdown());
  return 0;
}
