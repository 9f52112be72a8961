# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Training steps without the training: the same tensors again and again, each rank in an order of
its own, every sum checked.

The body of one rank; runs under any launcher: ``unisono run -np 3 python tests/collectives/steps.py
MODE [FOLDER]``.
  even      nothing but steps
  switched  all ranks change the ordering strategy between and in the middle of steps
  late      rank 1 sleeps before every step; everyone says who is waited for
  dropped, extra, reshaped   rank 1 does one step differently; the job goes on afterwards. The
            ranks meet in FOLDER in between: new, empty, on one machine
"""

from __future__ import annotations

import pathlib
import random
import sys
import time

import numpy as np

import unisono

TENSORS = 20
STEPS = 30
ODD = 1        # the rank that does what the others do not
HANG_S = 300
# Far above whatever a busy machine adds by itself.
LATE_S = 0.5
LATE_STEPS = 8

Handles = dict[str, tuple[unisono.Handle, np.ndarray]]


def elements(index: int) -> int:
    # Two are large enough to travel from and into their own memory.
    return {7: 50_000, 13: 40_000}.get(index, 1 + index * index * 17)


def submit(engine: unisono.Engine, step: int, index: int, count: int) -> tuple:
    ranks = engine.size()
    mine = np.arange(count, dtype=np.float32) + (engine.rank() + step)
    expected = ranks * (np.arange(count, dtype=np.float32) + step) + ranks * (ranks - 1) / 2
    return engine.allreduce_async(mine, name=f"t{index}", op=unisono.Sum), expected


def submit_all(engine: unisono.Engine, step: int, own: random.Random,
               without: int = -1) -> Handles:
    order = [index for index in range(TENSORS) if index != without]
    own.shuffle(order)
    return {f"t{index}": submit(engine, step, index, elements(index)) for index in order}


def settle(handles: Handles) -> dict[str, unisono.Error]:
    """Waits for everything; gives what failed. What did not fail is right."""
    errors = {}
    for name, (handle, expected) in handles.items():
        try:
            result = handle.wait(HANG_S)
        except unisono.Timeout:
            raise
        except unisono.Error as error:
            errors[name] = error
        else:
            assert np.array_equal(result, expected), f"{name}: {result} is not {expected}"
    return errors


def even_steps(engine: unisono.Engine, first: int, count: int, own: random.Random) -> None:
    for step in range(first, first + count):
        errors = settle(submit_all(engine, step, own))
        assert not errors, f"step {step}: {errors}"


def switched(engine: unisono.Engine, own: random.Random) -> None:
    for turn, strategy in enumerate(["cache", "tree", "topo", "auto", "coordinator", "cache"]):
        even_steps(engine, 100 * turn, 8, own)
        handles = submit_all(engine, 100 * turn + 50, own)
        engine.switch_order(strategy)
        assert not settle(handles), strategy
    even_steps(engine, 900, STEPS, own)
    assert engine.stats()["cache_hits"] > 0


def late(engine: unisono.Engine, own: random.Random) -> None:
    for step in range(LATE_STEPS):
        if engine.rank() == ODD:
            time.sleep(LATE_S)
        even_steps(engine, step, 1, own)
    stats = engine.stats()
    assert stats["slow_rank"] == ODD, stats
    assert f"rank {ODD}" in stats["verdict"], stats
    assert stats["slow_late_s"] > 0, stats


def meet(engine: unisono.Engine, folder: pathlib.Path, what: str) -> None:
    """Waits for all ranks without unisono: whoever waits for a stalled rank in a collective of the
    engine for as long as that one stalls would stall in turn."""
    (folder / f"{what}.{engine.rank()}").touch()
    give_up = time.monotonic() + HANG_S
    while not all((folder / f"{what}.{rank}").exists() for rank in range(engine.size())):
        assert time.monotonic() < give_up, f"the others did not come to {what}"
        time.sleep(0.02)


def unlike_the_others(engine: unisono.Engine, own: random.Random, what: str,
                      folder: pathlib.Path) -> None:
    odd = engine.rank() == ODD
    even_steps(engine, 0, STEPS, own)
    for turn in range(2):
        step = 1000 * (turn + 1)
        handles = submit_all(engine, step, own, without=7 if odd and what != "extra" else -1)
        if odd and what == "reshaped":
            handles["t7"] = submit(engine, step, 7, 3)
        if odd and what == "extra":
            handles[f"t{TENSORS}"] = submit(engine, step, TENSORS, 5)
        suspect = f"t{TENSORS}" if what == "extra" else "t7"
        errors = settle(handles)
        assert set(errors) <= {suspect}, errors
        for error in errors.values():
            kind = unisono.Mismatch if what == "reshaped" else unisono.Stalled
            assert isinstance(error, kind) and suspect in str(error), repr(error)
        print(f"rank {engine.rank()} {what} saw {list(errors.values())}", flush=True)
        meet(engine, folder, f"turn{turn}")
        engine.barrier()
        even_steps(engine, step + 1, STEPS, own)


def main() -> None:
    mode = sys.argv[1] if len(sys.argv) > 1 else "even"
    with unisono.Engine() as engine:
        own = random.Random(20260101 + engine.rank())
        if mode == "even":
            even_steps(engine, 0, STEPS, own)
        elif mode == "switched":
            switched(engine, own)
        elif mode == "late":
            late(engine, own)
        else:
            unlike_the_others(engine, own, mode, pathlib.Path(sys.argv[2]))
        engine.barrier()
        print(f"rank {engine.rank()} of {engine.size()} {mode} right", flush=True)


if __name__ == "__main__":
    main()
