# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A check that fails, hangs or takes its process along marks only itself."""

import sys

import pytest

import checked

SCRIPT = '''
import os, time
from checks import Skip, check, run_all
print("started", flush=True)

@check
def first():
    pass

@check
def fails():
    assert 1 == 2, "on purpose"

@check
def between():
    pass

@check
def skips():
    raise Skip("nothing here")

@check
def crashes():
    os._exit(7)

@check
def hangs():
    time.sleep(3600)

@check
def last():
    pass

run_all()
'''


@pytest.fixture
def job(tmp_path):
    def made(text=SCRIPT):
        script = tmp_path / "job.py"
        script.write_text(text)
        return checked.Job(script, 1, launcher=[sys.executable], check_timeout_s=5,
                           PYTHONPATH=str(checked.JOBS))
    return made


def outcome(job, name):
    try:
        job.confirm(name)
    except AssertionError as error:
        return "failed", str(error)
    except pytest.fail.Exception as error:
        return "hung", str(error)
    except pytest.skip.Exception as error:
        return "skipped", str(error)
    return "passed", ""


def test_each_check_has_its_own_result(job):
    job = job()
    results = {name: outcome(job, name) for name in checked.names(job._script)}
    assert {name: result for name, (result, _) in results.items()} == {
        "first": "passed", "fails": "failed", "between": "passed", "skips": "skipped",
        "crashes": "failed", "hangs": "hung", "last": "passed"}
    assert "on purpose" in results["fails"][1] and "nothing here" in results["skips"][1]
    job.confirm_good_end()


def test_a_good_job_is_started_once(job):
    good = job(SCRIPT.replace("assert 1 == 2", "assert 1 == 1").replace("os._exit(7)", "pass")
               .replace("time.sleep(3600)", "pass"))
    for name in checked.names(good._script):
        if name != "skips":
            good.confirm(name)
    good.confirm_good_end()
    assert good.output.count("started") == 1


def test_one_check_can_be_asked_for_alone(job):
    late = job()
    late.confirm("last")
    assert "ok first" not in late.output


def test_a_bad_end_is_no_checks_fault(job):
    bad = job(SCRIPT + "print('Exception ignored in: a pretended one')")
    bad.confirm("last")
    with pytest.raises(AssertionError, match="Exception ignored"):
        bad.confirm_good_end()
