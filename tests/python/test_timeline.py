# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A timeline is JSON on every rank, soon after the fact, whatever way it was asked for."""

import json
import pathlib
import time

import numpy as np
import pytest
from ranks import as_threads

import unisono


def events(path: pathlib.Path) -> list:
    return json.loads(path.read_text())


def run_some(engine: unisono.Engine) -> None:
    for step in range(3):
        engine.allreduce(np.ones(100), name=f"layer{step}")


def test_started_and_stopped_by_call(tmp_path: pathlib.Path) -> None:
    def body(engine: unisono.Engine) -> None:
        engine.allreduce(np.ones(4), name="before")
        engine.start_timeline(tmp_path / "run.json", mark_cycles=True)
        run_some(engine)
        engine.stop_timeline()
        engine.allreduce(np.ones(4), name="after")

    as_threads(2, body)
    for rank, name in enumerate(["run.json", "run.1.json"]):
        found = events(tmp_path / name)
        kinds = {event["name"] for event in found}
        assert {"NEGOTIATE_ALLREDUCE", "MOVE", "CYCLE_START"} <= kinds
        tensors = {event["args"]["name"] for event in found if event["name"] == "thread_name"}
        assert tensors == {"allreduce.layer0", "allreduce.layer1", "allreduce.layer2"}
        assert {event["pid"] for event in found} == {rank}


def test_read_from_the_options_and_valid_while_it_runs(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "live.json"

    def body(engine: unisono.Engine) -> None:
        run_some(engine)
        if engine.rank() == 0:
            deadline = time.monotonic() + 300
            while len(events(path)) < 4 and time.monotonic() < deadline:
                time.sleep(0.01)
            assert any(event["name"] == "NEGOTIATE_ALLREDUCE" for event in events(path))
        engine.barrier()

    as_threads(2, body, timeline=path)


def test_dynamic_is_no_file_name(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOROVOD_TIMELINE", "DYNAMIC")
    as_threads(2, run_some)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_the_callers_mistake(tmp_path: pathlib.Path) -> None:
    def body(engine: unisono.Engine) -> None:
        with pytest.raises(unisono.InvalidArgument, match="cannot write the timeline"):
            engine.start_timeline(tmp_path / "missing" / "run.json")

    as_threads(1, body)
