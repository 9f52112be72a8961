# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""unisono run on one machine: output, exit codes, verdicts, and that nothing is left behind.

UNISONO_BIN names the command under test.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

# So that a fault does not hang the suite; no test says how soon something happens.
PATIENCE_S = 120
UNISONO = os.environ.get("UNISONO_BIN") or shutil.which("unisono")
pytestmark = pytest.mark.skipif(not UNISONO, reason="no unisono command; set UNISONO_BIN")


def run(*arguments, timeout=PATIENCE_S, **more):
    return subprocess.run([UNISONO, "run", *map(str, arguments)], capture_output=True, text=True,
                          timeout=timeout, **more)


def start(*arguments, **more):
    return subprocess.Popen([UNISONO, "run", *map(str, arguments)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **more)


def alive(pid):
    """Whether a process runs; a zombie that its parent has not fetched does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until(condition, limit_s=PATIENCE_S):
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def pids_in(folder, count):
    assert wait_until(lambda: len(list(folder.glob("pid.*"))) >= count)
    time.sleep(0.1)
    return [int(path.read_text()) for path in folder.glob("pid.*")]


# Each rank leaves its own number and that of a child that ran away into its own session.
RUNAWAY = ('echo $$ > "$DIR/pid.$UNISONO_RANK"; '
           'setsid sh -c \'echo $$ > "$DIR/pid.child$UNISONO_RANK"; exec sleep 1000\' & '
           'sleep 1000')


def test_version_and_options():
    assert subprocess.run([UNISONO, "--version"], capture_output=True, text=True).stdout.startswith("unisono ")
    assert "UNISONO_FUSION_BYTES" in subprocess.run([UNISONO, "options"], capture_output=True,
                                                    text=True).stdout


def test_help_has_examples():
    result = run("--help")
    assert result.returncode == 0 and "Examples:" in result.stdout and "Exit codes" in result.stdout


def test_lines_carry_their_rank_and_stream():
    result = run("-np", 3, "sh", "-c", "echo out $UNISONO_RANK of $UNISONO_SIZE; echo err >&2")
    assert result.returncode == 0
    assert sorted(result.stdout.splitlines()) == [f"[{r}] out {r} of 3" for r in range(3)]
    assert sorted(result.stderr.splitlines()) == [f"[{r}] err" for r in range(3)]


def test_programs_of_torch_distributed_find_their_place():
    result = run("-np", 2, "--no-prefix", "sh", "-c",
                 "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR:$MASTER_PORT")
    lines = sorted(result.stdout.split("\n"))[-2:]
    assert re.fullmatch(r"0/2 0/2 127\.0\.0\.1:\d+", lines[0]), result.stdout
    assert lines[1] == lines[0].replace("0/2 0/2", "1/2 1/2")


def test_lines_stay_whole():
    script = "for i in 1 2 3 4 5 6 7 8 9; do printf 'ab'; printf 'cd\\n'; done; printf last"
    result = run("-np", 4, "sh", "-c", script)
    lines = result.stdout.splitlines()
    assert len(lines) == 40
    assert {line[4:] for line in lines} == {"abcd", "last"}


def test_no_prefix_and_output_dir(tmp_path):
    result = run("-np", 2, "--no-prefix", "--output-dir", tmp_path / "o", "sh", "-c",
                 "echo $UNISONO_RANK")
    assert sorted(result.stdout.split()) == ["0", "1"]
    assert (tmp_path / "o" / "rank.1.out").read_text() == "1\n"


def test_everything_after_the_program_is_its_own():
    result = run("-np", 1, "echo", "-np", "7", "--json", "x", "--help")
    assert result.stdout == "[0] -np 7 --json x --help\n"


def test_key_is_in_no_argument_or_variable():
    script = ('[ "$(wc -c < /proc/self/fd/$UNISONO_KEY_FD)" = 32 ] && '
              'env | grep -c UNISONO_KEY= ; tr "\\0" " " < /proc/$$/cmdline')
    result = run("-np", 1, "sh", "-c", script)
    assert result.stdout.splitlines()[0] == "[0] 0"


def test_keys_differ_between_jobs():
    one, two = (run("-np", 1, "sh", "-c", "md5sum < /proc/self/fd/$UNISONO_KEY_FD").stdout
                for _ in range(2))
    assert one and one != two


def test_options_become_variables():
    result = run("-np", 1, "--transport", "tcp", "--set", "fusion_bytes=1048576", "sh", "-c",
                 "echo $UNISONO_TRANSPORT $UNISONO_FUSION_BYTES")
    assert result.stdout == "[0] tcp 1048576\n"


@pytest.mark.parametrize("arguments, message", [
    (["-np", "2"], "which program"),
    (["true"], "how many ranks"),
    (["-np", "0", "true"], "np"),
    (["-np", "2", "--transport", "pigeon", "true"], "pigeon"),
    (["-np", "2", "--set", "nonsense=1", "true"], "nonsense"),
    (["-np", "2", "--bogus", "true"], "bogus"),
    (["-np", "5", "-H", "localhost:2", "true"], "slots"),
    (["-H", "-oProxyCommand=x:2", "true"], "not a host"),
])
def test_wrong_usage_is_told_before_anything_starts(arguments, message):
    result = run(*arguments)
    assert result.returncode == 2, result.stderr
    assert message in result.stdout + result.stderr


def test_missing_program_is_exit_3():
    result = run("-np", 2, "/no/such/program")
    assert result.returncode == 3 and "/no/such/program" in result.stderr


def test_verdict_names_the_first_to_fail(tmp_path):
    verdict = tmp_path / "v.json"
    result = run("-np", 3, "--grace", "0.3", "--json", verdict, "sh", "-c",
                 "echo working; [ $UNISONO_RANK = 1 ] && { echo broken pump >&2; exit 7; }; sleep 1000")
    assert result.returncode == 1
    assert "first to fail: rank 1" in result.stderr and "exit code 7" in result.stderr
    assert "    | broken pump" in result.stderr
    found = json.loads(verdict.read_text())
    assert found["verdict"] == "failed" and found["first_failure"]["rank"] == 1
    assert [row["exit_code"] for row in found["ranks"]] == [None, 7, None]
    assert found["ranks"][0]["signal"] == "SIGTERM"
    assert set(found["ranks"][0]) >= {"rank", "host", "pid", "exit_code", "signal", "duration_s"}


def test_signal_is_named():
    result = run("-np", 2, "--grace", "0.2", "sh", "-c",
                 "[ $UNISONO_RANK = 0 ] && kill -SEGV $$; sleep 1000")
    assert result.returncode == 1 and "rank 0" in result.stderr and "SIGSEGV" in result.stderr


def test_json_on_standard_output_stands_alone():
    result = run("-np", 2, "--json", "-", "echo", "hello")
    assert json.loads(result.stdout)["verdict"] == "succeeded"
    assert "[0] hello" in result.stderr


def test_timeout_names_the_unfinished():
    result = run("-np", 2, "--timeout", "0.5", "sh", "-c", "[ $UNISONO_RANK = 1 ] && sleep 1000; true")
    assert result.returncode == 1
    assert "--timeout 0.5" in result.stderr and "rank 1 had not finished" in result.stderr


def test_ranks_that_ignore_sigterm_are_killed():
    result = run("-np", 2, "--timeout", "0.3", "sh", "-c",
                 "trap '' TERM; sleep 1000 & wait; sleep 1000")
    assert result.returncode == 1


def test_ctrl_c_reaches_the_ranks(tmp_path):
    script = 'trap "echo bye; exit 0" INT; echo $$ > "$DIR/pid.$UNISONO_RANK"; while :; do sleep 0.05; done'
    job = start("-np", 2, "sh", "-c", script, env={**os.environ, "DIR": str(tmp_path)})
    pids = pids_in(tmp_path, 2)
    job.send_signal(signal.SIGINT)
    out, err = job.communicate(timeout=PATIENCE_S)
    assert job.returncode == 130 and "interrupted by SIGINT" in err
    assert sorted(out.splitlines()) == ["[0] bye", "[1] bye"]
    assert not any(map(alive, pids))


def test_second_ctrl_c_kills_at_once(tmp_path):
    script = 'trap "" INT TERM; echo $$ > "$DIR/pid.$UNISONO_RANK"; while :; do sleep 0.05; done'
    job = start("-np", 2, "--grace", "1000", "sh", "-c", script, env={**os.environ, "DIR": str(tmp_path)})
    pids = pids_in(tmp_path, 2)
    job.send_signal(signal.SIGINT)
    time.sleep(0.3)
    job.send_signal(signal.SIGINT)
    job.communicate(timeout=PATIENCE_S)
    assert job.returncode == 130
    assert not any(map(alive, pids))


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_dead_launcher_leaves_no_processes(tmp_path, number, code):
    job = start("-np", 2, "--grace", "1", "sh", "-c", RUNAWAY, env={**os.environ, "DIR": str(tmp_path)})
    pids = pids_in(tmp_path, 4)
    assert all(map(alive, pids))
    job.send_signal(number)
    assert job.wait(timeout=PATIENCE_S) == code
    assert wait_until(lambda: not any(map(alive, pids))), [p for p in pids if alive(p)]
    job.communicate()


def test_children_of_a_finished_rank_are_ended(tmp_path):
    script = 'setsid sh -c \'echo $$ > "$DIR/pid.$UNISONO_RANK"; exec sleep 1000\' & sleep 0.3; exit 0'
    result = run("-np", 2, "sh", "-c", script, env={**os.environ, "DIR": str(tmp_path)})
    assert result.returncode == 0
    assert not any(map(alive, pids_in(tmp_path, 2)))


def test_standard_input_goes_to_rank_0_only_when_asked():
    script = "echo got $(cat)"
    assert run("-np", 1, "sh", "-c", script, input="words").stdout == "[0] got\n"
    assert run("-np", 1, "--stdin", "sh", "-c", script, input="words").stdout == "[0] got words\n"


def test_standard_input_that_would_not_arrive_is_refused():
    refused = run("-H", "elsewhere:1", "--stdin", "true", input="words")
    assert refused.returncode == 2
    assert "rank 0 would run on elsewhere" in refused.stderr


def test_agent_protocol_over_a_stand_in_for_ssh(tmp_path):
    shell = tmp_path / "shell"
    shell.write_text('#!/bin/sh\nhost=$1; shift; echo login noise; exec "$@"\n')
    shell.chmod(0o755)
    result = run("-H", "a:1,b:2", "--rsh", shell, "sh", "-c",
                 "echo $UNISONO_HOST $UNISONO_RANK $UNISONO_LOCAL_RANK/$UNISONO_LOCAL_SIZE; "
                 "[ -n \"$UNISONO_ADDRESS\" ] || exit 9")
    if "no address of this host can be reached" in result.stderr:
        pytest.skip("this machine has no address but loopback")
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == ["[0] a 0 0/1", "[1] b 1 0/2", "[2] b 2 1/2"]


def stand_in(folder, script):
    """A remote shell that does as the script says instead of reaching a host."""
    shell = folder / "shell"
    shell.write_text("#!/bin/sh\nhost=$1; shift\n" + script)
    shell.chmod(0o755)
    return shell


@pytest.mark.parametrize("deaf", [False, True])
def test_remote_shell_that_closes_its_output_but_lives_is_ended(tmp_path, deaf):
    trap = "trap '' TERM HUP\n" if deaf else ""
    shell = stand_in(tmp_path, f'{trap}echo $$ > "$DIR/pid.shell"\nexec >&- 2>&-\n'
                               "while :; do sleep 0.1; done\n")
    result = run("-H", "a:1", "--force-ssh", "--rsh", shell, "true",
                 env={**os.environ, "DIR": str(tmp_path)})
    assert result.returncode == 1, result.stderr
    assert "host a" in result.stderr and "did not end" in result.stderr
    assert not any(map(alive, pids_in(tmp_path, 1)))


def test_remote_shell_that_lives_on_after_a_good_end_changes_nothing(tmp_path):
    shell = stand_in(tmp_path, '"$@"\nexec >&- 2>&-\nwhile :; do sleep 0.1; done\n')
    result = run("-H", "127.0.0.1:1", "--force-ssh", "--rsh", shell, "sh", "-c", "echo fine")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "[0] fine\n"


def test_remote_shell_that_never_reads_does_not_stop_the_launcher(tmp_path):
    """The launcher has more to say than a pipe holds, and is interrupted meanwhile."""
    shell = stand_in(tmp_path, 'echo $$ > "$DIR/pid.shell"\nwhile :; do sleep 0.1; done\n')
    job = start("-H", "a:1", "--force-ssh", "--rsh", shell, "true", "x" * 100_000, "y" * 100_000,
                env={**os.environ, "DIR": str(tmp_path)})
    pids = pids_in(tmp_path, 1)
    job.send_signal(signal.SIGINT)
    _, err = job.communicate(timeout=PATIENCE_S)
    assert job.returncode == 130 and "interrupted by SIGINT" in err
    assert not any(map(alive, pids))
