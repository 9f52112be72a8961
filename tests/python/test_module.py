# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The module-level calls on the default engine."""

import inspect
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import unisono

ROOT = pathlib.Path(__file__).parents[2]


def test_version_is_the_projects():
    assert unisono.__version__ == (ROOT / "VERSION").read_text().strip()


def test_package_is_typed():
    assert (pathlib.Path(unisono.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize("call", [unisono.rank, unisono.barrier, unisono.stats,
                                  lambda: unisono.allreduce(1.0)])
def test_calls_before_init_say_so(call):
    with pytest.raises(unisono.NotInitialized, match="call unisono.init"):
        call()
    assert not unisono.is_initialized()


def test_init_shutdown_and_init_again():
    for _ in range(2):
        unisono.init()
        assert unisono.is_initialized()
        assert (unisono.rank(), unisono.size()) == (0, 1)
        assert (unisono.local_rank(), unisono.local_size()) == (0, 1)
        assert (unisono.cross_rank(), unisono.cross_size()) == (0, 1)
        assert unisono.allreduce(2.0, op=unisono.Sum) == 2.0
        unisono.shutdown()
        assert not unisono.is_initialized()
    unisono.shutdown()


def test_environment_is_read_at_init(monkeypatch):
    monkeypatch.setenv("UNISONO_FUSION_BYTES", "4096")
    unisono.init()
    assert "4096" in repr(unisono.default.engine().options())
    unisono.shutdown()


def test_second_init_with_the_same_options_is_fine_and_with_others_is_not(alone):
    unisono.init()
    with pytest.raises(unisono.Error, match="(?s)fusion_bytes.*shutdown"):
        unisono.init(fusion_bytes=12345)


def test_options_by_dict_keyword_and_object():
    options = unisono.Options()
    options.set("fusion_bytes", "1000")
    for given in ({"options": options}, {"options": {"fusion_bytes": 1000}},
                  {"fusion_bytes": 1000}):
        unisono.init(**given)
        assert unisono.default.engine().options().get("fusion_bytes") == "1000"
        unisono.shutdown()


def test_wrong_option_is_a_value_error_naming_it():
    with pytest.raises(ValueError, match="fusoin_bytes"):
        unisono.init(fusoin_bytes=1)
    with pytest.raises(ValueError, match="transport"):
        unisono.init(transport="pigeon")


def test_stats_have_the_promised_counters(alone):
    unisono.allreduce(np.ones(3), name="x")
    stats = unisono.stats()
    for key in ("control_messages", "control_bytes", "data_bytes", "cycles", "buckets",
                "cache_hits", "cache_misses", "engine_cpu_s", "exposed_s", "order_digest"):
        assert key in stats
    assert stats["operations"] >= 1


def test_every_module_level_call_shows_its_signature():
    parameters = inspect.signature(unisono.allreduce).parameters
    assert "self" not in parameters and "prescale_factor" in parameters
    for name in unisono.__all__:
        assert hasattr(unisono, name), name


def test_exit_without_shutdown_is_clean_and_quick():
    code = "import unisono, numpy as np; unisono.init(); unisono.allreduce_async(np.ones(9))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


def test_forked_child_gets_a_clear_error_and_may_init(alone):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if unisono.is_initialized():
                code = 2
            try:
                unisono.allreduce(1.0)
            except unisono.Forked:
                unisono.init()
                code = 0 if unisono.allreduce(5.0) == 5.0 else 3
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert unisono.allreduce(1.0) == 1.0, "the parent is not disturbed"


def test_names_follow_horovod(alone):
    ones = np.ones(1)
    assert "allreduce.mine" in repr(unisono.allreduce_async(ones, name="mine"))
    assert "allreduce.noname." in repr(unisono.allreduce_async(ones))
    group = repr(unisono.grouped_allreduce_async([ones, ones], name="g"))
    assert "grouped_allreduce.g_1of2, grouped_allreduce.g_2of2" in group


def test_average_and_op_exclude_each_other(alone):
    with pytest.raises(ValueError, match="not both"):
        unisono.allreduce(1.0, average=True, op=unisono.Sum)


def test_process_sets_given_to_init():
    pair = unisono.ProcessSet(0)
    unisono.init(process_sets=[pair])
    assert pair.process_set_id and pair.included() and pair.size() == 1
    assert unisono.global_process_set.included() and unisono.global_process_set.size() == 1
    unisono.shutdown()
