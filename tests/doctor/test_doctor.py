# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""unisono doctor: exit codes, the JSON that scripts rely on, and other hosts behind a fake ssh.

UNISONO_BIN names the command under test. Nothing leaves this machine, and no figure is asserted.
"""
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# So that a fault does not hang the suite; no test says how soon something happens.
PATIENCE_S = 120
UNISONO = os.environ.get("UNISONO_BIN") or shutil.which("unisono")
pytestmark = pytest.mark.skipif(not UNISONO, reason="no unisono command; set UNISONO_BIN")

ROW = ["check", "ok", "mark", "found", "mend"]


def doctor(*arguments, timeout=PATIENCE_S, **more):
    return subprocess.run([UNISONO, "doctor", *map(str, arguments)], capture_output=True, text=True,
                          timeout=timeout, **more)


def named(document, check, host=None):
    return next(row for row in document["results"]
                if row["check"] == check and row.get("host") == host)


def alive(pid):
    """Whether a process runs; a zombie that its parent has not fetched does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition, limit_s=PATIENCE_S):
    end = time.monotonic() + limit_s
    while time.monotonic() < end and not condition():
        time.sleep(0.02)
    return condition()


@pytest.fixture(scope="module")
def document():
    done = doctor("--json", "-")
    assert done.returncode in (0, 3), done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def shell(tmp_path):
    """Makes a remote shell of a script that sees the host as $1 and the command as $@."""
    def make(script):
        path = tmp_path / "shell"
        path.write_text("#!/bin/sh\nhost=$1; shift\n" + script)
        path.chmod(0o755)
        return ["--rsh", path]
    return make


def test_help_has_examples_and_hides_what_is_not_for_people():
    done = doctor("--help")
    assert done.returncode == 0 and "Examples:" in done.stdout and "Exit codes" in done.stdout
    assert "--serve" not in done.stdout
    listed = subprocess.run([UNISONO, "--help"], capture_output=True, text=True).stdout
    assert "doctor" in listed


@pytest.mark.parametrize("arguments", [
    ["--no-such-option"], ["word"], ["--json"], ["-H", "a:0"], ["-H", "-oProxyCommand=x"],
    ["--hostfile", "/no/such/file"], ["-H", "a", "--hostfile", "/dev/null"], ["-p", "0"]])
def test_wrong_usage_exits_2_with_a_message(arguments):
    done = doctor(*arguments)
    assert done.returncode == 2
    assert done.stderr.strip() and not done.stdout.strip()


def test_rows_have_names_marks_and_mends(document):
    assert list(document)[:2] == ["machine", "results"]
    assert {"host", "cpu", "architecture", "cores", "memory_gib", "kernel",
            "versions"} <= document["machine"].keys()
    assert {"unisono", "glibc"} <= document["machine"]["versions"].keys()
    for row in document["results"]:
        assert list(row) == ROW
        assert row["check"] and row["found"]
        assert row["mark"] in ("ok", "warn", "fail") and row["ok"] == (row["mark"] != "fail")
        assert bool(row["mend"]) == (row["mark"] != "ok"), row


def test_every_check_has_its_row(document):
    names = [row["check"] for row in document["results"]]
    assert {"cores", "memory", "shared memory", "/dev/shm", "kernel calls", "file descriptors",
            "random numbers", "AES", "clock source", "wall clock", "interface lo", "host name",
            "ports", "own addresses", "loopback TCP", "copy in shared memory", "versions", "python",
            "mpi", "nccl", "ucx", "ssh"} <= set(names)
    assert len(names) == len(set(names))


def test_text_and_json_file_say_the_same(tmp_path):
    file = tmp_path / "doctor.json"
    done = doctor("--json", file)
    written = json.loads(file.read_text())
    for row in written["results"]:
        assert row["check"] in done.stdout and row["found"] in done.stdout
    assert "failed" in done.stdout.splitlines()[-1]
    assert done.returncode == (0 if all(row["ok"] for row in written["results"]) else 3)


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    done = doctor("--json", tmp_path / "none" / "x.json")
    assert done.returncode == 1 and "x.json" in done.stderr


def test_a_machine_that_lacks_something_exits_3():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    done = doctor("--json", "-",
                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, hard)))
    row = named(json.loads(done.stdout), "file descriptors")
    assert done.returncode == 3 and row["mark"] == "fail" and "ulimit -n" in row["mend"]


def test_the_python_of_the_active_environment_is_asked(tmp_path):
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python3"
    python.write_text(f"#!/bin/sh\nexec {sys.executable} \"$@\"\n")
    python.chmod(0o755)
    done = doctor("--json", "-", env={**os.environ, "VIRTUAL_ENV": str(tmp_path)})
    document = json.loads(done.stdout)
    assert document["machine"]["versions"]["python"] == sys.version.split()[0]
    python.write_text("#!/bin/sh\necho broken >&2; exit 1\n")
    done = doctor("--json", "-", env={**os.environ, "VIRTUAL_ENV": str(tmp_path)})
    row = named(json.loads(done.stdout), "python")
    assert row["mark"] == "warn" and "broken" in row["found"]


def test_a_python_that_never_ends_is_ended(tmp_path):
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python3"
    python.write_text(f"#!/bin/sh\ntrap '' TERM\nsleep 1000 & echo $! > {tmp_path}/pid\nwait\n")
    python.chmod(0o755)
    done = doctor("--json", "-", env={**os.environ, "VIRTUAL_ENV": str(tmp_path)})
    assert "did not start in time" in named(json.loads(done.stdout), "python")["found"]
    assert wait_until(lambda: not alive(int((tmp_path / "pid").read_text())))


def test_this_machine_is_no_other_host():
    done = doctor("-H", "localhost:2,127.0.0.1", "--json", "-")
    assert "hosts" not in json.loads(done.stdout)


def test_another_host_is_examined_and_the_way_to_it_measured(shell):
    done = doctor("-H", "node1:4,node2", *shell('exec "$@"\n'), "--json", "-")
    document = json.loads(done.stdout)
    assert [host["host"] for host in document["hosts"]] == ["node1", "node2"]
    for host in document["hosts"]:
        assert host["answered"] and host["machine"]["versions"]["unisono"]
        assert any(address["reached"] for address in host["addresses"])
        assert host["gb_per_s"] > 0 and host["round_trip_us"] > 0
        # It is the same clock.
        assert abs(host["clock_ahead_s"]) <= host["clock_bound_s"]
        assert named(document, "TCP to it", host["host"])["found"]
        assert "as here" in named(document, "clock skew", host["host"])["found"]
    assert not [row for row in document["results"] if row["check"].startswith("version of")]


def test_what_is_wrong_on_another_host_is_printed_with_its_name(shell):
    report = {"machine": {"host": "n1", "versions": {"unisono": "0.0.1", "torch": "1.0"}},
              "results": [{"check": "cores", "ok": True, "mark": "ok", "found": "fine-there"},
                          {"check": "memory", "ok": False, "mark": "fail", "found": "none-there",
                           "mend": "buy-some"}]}
    done = doctor("-H", "node1", *shell(f"""
echo 'Welcome to {{node1}}'
case $* in
  *--serve*) exec "$@" ;;
  *) echo '{json.dumps(report)}' ;;
esac
"""))
    assert done.returncode == 3
    assert "\nnode1\n" in done.stdout and "none-there" in done.stdout and "buy-some" in done.stdout
    assert "fine-there" not in done.stdout
    assert "Versions that differ" in done.stdout and "install unisono" in done.stdout


@pytest.mark.parametrize("script, found, mend", [
    ("echo 'Host key verification failed.' >&2; exit 255", "host key", "ssh-keyscan"),
    ("echo 'x: Permission denied (publickey).' >&2; exit 255", "password", "ssh-copy-id"),
    ("exit 127", "cannot be run there", "--remote-unisono"),
    ("echo '{}'; exit 0", "gave no answer", "run it by hand"),
    ("kill -9 $$", "gave no answer", "run it by hand")])
def test_a_host_that_cannot_be_reached_is_one_row(shell, script, found, mend):
    done = doctor("-H", "node1", *shell(script + "\n"), "--json", "-")
    assert done.returncode == 3
    rows = [row for row in json.loads(done.stdout)["results"] if row.get("host") == "node1"]
    assert len(rows) == 1 and rows[0]["check"] == "reach" and rows[0]["mark"] == "fail"
    assert found in rows[0]["found"] and mend in rows[0]["mend"]


def test_a_shell_that_is_not_there_is_named(tmp_path):
    done = doctor("-H", "node1", "--rsh", tmp_path / "none", "--json", "-")
    row = named(json.loads(done.stdout), "reach", "node1")
    assert done.returncode == 3 and "cannot run" in row["found"]


def test_a_host_without_a_way_but_ssh_fails_with_the_mend(shell):
    # Its serving doctor names an address where nobody listens: the discard port of loopback.
    done = doctor("-H", "node1", *shell("""
case $* in
  *--serve*) read key; echo 'UNISONO-DOCTOR {"addresses": ["127.0.0.1:9"]}'; cat > /dev/null ;;
  *) exec "$@" ;;
esac
"""), "--json", "-")
    row = named(json.loads(done.stdout), "reach", "node1")
    assert done.returncode == 3 and "127.0.0.1:9" in row["found"] and "firewalls" in row["mend"]


@pytest.mark.long
def test_a_shell_that_says_nothing_is_given_up(shell, tmp_path):
    done = doctor("-H", "node1", *shell(f"echo $$ > {tmp_path}/pid; exec sleep 1000\n"),
                  "--json", "-")
    assert "no answer within" in named(json.loads(done.stdout), "reach", "node1")["found"]
    assert wait_until(lambda: not alive(int((tmp_path / "pid").read_text())))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_when_the_doctor_ends(shell, tmp_path, number):
    running = subprocess.Popen(
        [UNISONO, "doctor", "-H", "node1",
         *shell(f"echo $$ > {tmp_path}/new && mv {tmp_path}/new {tmp_path}/pid; exec sleep 1000\n")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert wait_until((tmp_path / "pid").exists)
    running.send_signal(number)
    running.communicate(timeout=PATIENCE_S)
    assert running.returncode == (130 if number == signal.SIGINT else -9)
    assert wait_until(lambda: not alive(int((tmp_path / "pid").read_text())))


class Serving:
    """A serving doctor, talked with as another doctor would."""

    def __init__(self, key="ab" * 32):
        self.process = subprocess.Popen([UNISONO, "doctor", "--serve"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)
        self.process.stdin.write(key + "\n")

    def line(self):
        return self.process.stdout.readline()


def test_a_serving_doctor_ends_with_its_input():
    serving = Serving()
    word, text = serving.line().split(" ", 1)
    assert word == "UNISONO-DOCTOR" and json.loads(text)["addresses"]
    serving.process.stdin.write("clock\n")
    assert serving.line().startswith("clock ")
    serving.process.stdin.close()
    assert serving.process.wait(timeout=PATIENCE_S) == 0
    serving.process.stdout.close()


def test_a_serving_doctor_ends_by_itself():
    serving = Serving()
    assert serving.line()
    assert serving.process.wait(timeout=PATIENCE_S) == 0
    serving.process.communicate()


def test_a_serving_doctor_without_a_key_refuses():
    serving = Serving("no key")
    assert serving.process.wait(timeout=PATIENCE_S) == 2
    serving.process.communicate()
