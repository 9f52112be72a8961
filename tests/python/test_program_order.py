# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""order=program: what groups of torch.distributed run with, over shared memory and over TCP, and
what any engine may ask for."""

import numpy as np
import pytest

import checked
import ranks
import unisono

SCRIPT = "program_order_checks.py"


@pytest.fixture(scope="module", params=["auto", "tcp"])
def groups(request, tmp_path_factory):
    pytest.importorskip("torch")
    return checked.Job(SCRIPT, 4, lambda: str(tmp_path_factory.mktemp("store") / "file"),
                       UNISONO_TRANSPORT=request.param)


@pytest.mark.parametrize("name", checked.names(SCRIPT))
def test_group(groups, name):
    groups.confirm(name)


def test_any_engine_may_ask_for_it():
    def body(engine):
        for step in range(5):
            assert engine.allreduce(np.ones(3), op=unisono.Sum).tolist() == [2] * 3
            assert len(engine.allgather(np.ones(engine.rank() + step))) == 2 * step + 1
        stats = engine.stats()
        assert stats["control_messages"] == 0 and stats["order"]["strategy"] == "program"
        array = np.ones(3, dtype=np.float32 if engine.rank() else np.float64)
        with pytest.raises(unisono.Mismatch, match="rank 0: allreduce.*float64.*rank 1: allreduce"):
            engine.allreduce(array, name="x")
        engine.barrier()

    ranks.as_threads(2, body, order="program")
