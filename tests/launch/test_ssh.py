# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""unisono run over a real sshd on loopback, with its own port, host key and user key.

Strict host keys are the point: a known host works, an unknown one is refused with the mend.
"""
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

# So that a fault does not hang the suite; no test says how soon something happens.
PATIENCE_S = 120
UNISONO = os.environ.get("UNISONO_BIN") or shutil.which("unisono")
SSHD = shutil.which("sshd") or ("/usr/sbin/sshd" if os.path.exists("/usr/sbin/sshd") else None)
pytestmark = [
    pytest.mark.skipif(not UNISONO, reason="no unisono command; set UNISONO_BIN"),
    pytest.mark.skipif(not SSHD or not shutil.which("ssh"), reason="no sshd or ssh here"),
]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    def __init__(self, folder):
        self.folder, self.port = folder, free_port()
        for name in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
        (folder / "authorized").write_text((folder / "user_key.pub").read_text())
        (folder / "authorized").chmod(0o600)
        kind, key = (folder / "host_key.pub").read_text().split()[:2]
        (folder / "known").write_text(f"[127.0.0.1]:{self.port} {kind} {key}\n")
        (folder / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host_key\n"
            f"AuthorizedKeysFile {folder}/authorized\nPidFile {folder}/sshd.pid\nUsePAM no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nStrictModes no\n"
            "PermitRootLogin prohibit-password\n")
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self.log = open(folder / "sshd.log", "w")
        self.process = subprocess.Popen([SSHD, "-D", "-e", "-f", folder / "sshd_config"],
                                        stdout=self.log, stderr=self.log)
        self.ready = self._wait()

    def _wait(self):
        for _ in range(100):
            if self.process.poll() is not None:
                return False
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return True
            except OSError:
                time.sleep(0.05)
        return False

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=10)
        self.log.close()

    def arguments(self, known="known"):
        return ["-H", "127.0.0.1:2", "--force-ssh", "--ssh-port", str(self.port),
                "--ssh-identity", str(self.folder / "user_key"),
                "--ssh-known-hosts", str(self.folder / known)]

    def run(self, *words, known="known", **more):
        return subprocess.run([UNISONO, "run", *self.arguments(known), *words], capture_output=True,
                              text=True, timeout=PATIENCE_S, **more)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    one = Server(tmp_path_factory.mktemp("ssh"))
    if not one.ready:
        one.stop()
        pytest.skip("sshd does not start here: " + (one.folder / "sshd.log").read_text()[-200:])
    yield one
    one.stop()


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition, limit_s=PATIENCE_S):
    end = time.monotonic() + limit_s
    while time.monotonic() < end and not condition():
        time.sleep(0.05)
    return condition()


def test_job_runs_on_a_known_host(server):
    result = server.run("-x", "COLOUR", "--transport", "tcp", "sh", "-c",
                        "echo $UNISONO_RANK/$UNISONO_SIZE $COLOUR $UNISONO_TRANSPORT $PWD; "
                        "[ $(wc -c < /proc/self/fd/$UNISONO_KEY_FD) = 32 ]",
                        env={**os.environ, "COLOUR": "blue"}, cwd=server.folder)
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == [
        f"[{r}] {r}/2 blue tcp {server.folder}" for r in range(2)]


def test_unknown_host_key_is_refused_with_the_mend(server):
    (server.folder / "nobody").write_text("")
    result = server.run("true", known="nobody")
    assert result.returncode == 1
    assert "127.0.0.1" in result.stderr and "does not know the host key" in result.stderr
    assert f"ssh-keyscan -p {server.port} 127.0.0.1 >> {server.folder}/nobody" in result.stderr
    assert (server.folder / "nobody").read_text() == ""


def test_changed_host_key_is_refused(server):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", server.folder / "other"], check=True)
    kind, key = (server.folder / "other.pub").read_text().split()[:2]
    (server.folder / "wrong").write_text(f"[127.0.0.1]:{server.port} {kind} {key}\n")
    result = server.run("true", known="wrong")
    assert result.returncode == 1 and "host key" in result.stderr


def test_missing_unisono_on_the_host_is_exit_3(server):
    result = server.run("--remote-unisono", "/no/such/unisono", "true")
    assert result.returncode == 3 and "--remote-unisono" in result.stderr


def test_missing_program_on_the_host_is_exit_3(server):
    result = server.run("/no/such/program")
    assert result.returncode == 3 and "/no/such/program" in result.stderr


def test_failure_on_the_host_is_told(server):
    result = server.run("--grace", "0.3", "sh", "-c",
                        "[ $UNISONO_RANK = 1 ] && { echo cracked >&2; exit 5; }; sleep 1000")
    assert result.returncode == 1
    assert "first to fail: rank 1 on 127.0.0.1" in result.stderr and "exit code 5" in result.stderr
    assert "    | cracked" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_when_the_launcher_ends(server, tmp_path, number):
    script = 'echo $$ > "$DIR/pid.$UNISONO_RANK"; sleep 1000 & echo $! > "$DIR/pid.child$UNISONO_RANK"; wait'
    job = subprocess.Popen([UNISONO, "run", *server.arguments(), "--grace", "1", "-x", f"DIR={tmp_path}",
                            "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert wait_until(lambda: len(list(tmp_path.glob("pid.*"))) == 4)
    time.sleep(0.1)
    pids = [int(path.read_text()) for path in tmp_path.glob("pid.*")]
    assert all(map(alive, pids))
    job.send_signal(number)
    job.wait(timeout=PATIENCE_S)
    assert wait_until(lambda: not any(map(alive, pids))), [p for p in pids if alive(p)]
    job.communicate()
