# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients in one call and one step late, consistency checks, config(), and a rank that dies."""

import pytest

import checked
import ranks

pytest.importorskip("torch", reason="torch is not installed")
import unisono  # noqa: E402
from unisono.config import _chosen, config  # noqa: E402

job, test_on_three_ranks, test_the_job_ends_well = checked.tests_of("torch_extras.py", 3)


def test_a_rank_that_dies_in_backward_leaves_no_gradients_behind():
    output = ranks.as_processes(2, checked.JOBS / "torch_lose_a_peer.py", expect=1,
                                environment={"OMP_NUM_THREADS": "1"})
    assert "rank 0 dropped its gradients" in output, output


@pytest.fixture
def clean_config():
    _chosen.clear()
    yield
    _chosen.clear()
    unisono.shutdown()


def test_config_sets_what_the_next_init_uses(clean_config):
    assert config() == {}
    config(teams=2, buffer_bytes=1 << 20)
    assert config(threads_per_team=1) == {"teams": 2, "threads_per_team": 1,
                                          "buffer_bytes": 1 << 20}
    unisono.init()
    options = unisono.default.engine().options()
    assert [options.get(key) for key in ("teams", "team_threads", "fusion_bytes")] == [
        "2", "1", str(1 << 20)]
    unisono.init()  # the same options again
    with pytest.raises(unisono.Error, match="before, or unisono.shutdown"):
        config(teams=1)
    unisono.shutdown()
    unisono.init({"teams": 1})  # what init() is given wins
    assert unisono.default.engine().options().get("teams") == "1"


@pytest.mark.parametrize("arguments", [{"teams": 0}, {"threads_per_team": True},
                                       {"buffer_bytes": -1}, {"teams": 1.5}])
def test_config_refuses_nonsense(clean_config, arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        config(**arguments)
    assert config() == {}
