# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Whoever knocks without the job's key changes nothing but the count of strangers."""

import random
import signal
import socket
import struct

import pytest

import strangers
from harness import TRANSPORTS, Job, wait_until


def finish(job: Job) -> int:
    """Ends the job in good order; gives how many strangers it counted."""
    job.send(0, signal.SIGTERM)
    rounds = set()
    for rank in job.ranks:
        assert rank.finish() == 0
        done, = rank.events("done")
        rounds.add(done["rounds"])
    assert len(rounds) == 1
    return job.ranks[0].events("done")[0]["strangers"]


def closed_by_the_other_end(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(65536) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def besiege(transport: str, count: int, seed: int) -> None:
    rng = random.Random(seed)
    held: list[socket.socket] = []
    with Job(4, "loop", "elements=2000", transport=transport) as job:
        job.wait_ready()
        for _ in range(count):
            strangers.visit(job.port, rng.choice(strangers.KINDS), rng, held)
        # Nobody may sit at the door for long.
        assert wait_until(lambda: all(map(closed_by_the_other_end, held)))
        counted = finish(job)
    for connection in held:
        connection.close()
    # One that resets at once may be gone before it can be accepted; nobody is counted twice.
    assert 0.8 * count <= counted <= count, (seed, counted)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_strangers_are_counted_and_nothing_else(transport: str) -> None:
    besiege(transport, count=150, seed=3)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_thousand_strangers(transport: str) -> None:
    besiege(transport, count=1000, seed=4)


def test_strangers_during_the_join_change_nothing() -> None:
    rng = random.Random(5)
    held: list[socket.socket] = []
    with Job(3, "loop", options={"FAULT_RANK_STAGGER_MS": "500"}) as job:
        for _ in range(60):
            strangers.visit(job.port, rng.choice(strangers.KINDS), rng, held)
        job.wait_ready()
        assert finish(job) > 0
    for connection in held:
        connection.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_silent_connections_cannot_keep_the_ranks_from_joining(transport: str) -> None:
    # A door for two ranks has 22 places.
    with Job(2, "loop", transport=transport, options={"FAULT_RANK_STAGGER_MS": "300"}) as job:
        with strangers.SilentCrowd(job.port, 40):
            job.wait_ready()
        assert finish(job) > 0


def test_replayed_hello_and_proof_are_refused() -> None:
    ear = strangers.Eavesdropper()
    with Job(2, "loop", per_rank={1: {"UNISONO_ADDRESS": f"127.0.0.1:{ear.port}"}}) as job:
        ear.listen_towards(job.port)
        job.wait_ready()
        said = ear.heard
        assert said[:8] == strangers.MAGIC and len(said) > strangers.HELLO_BYTES
        hello = said[:strangers.HELLO_BYTES]
        proof = said[strangers.HELLO_BYTES:strangers.HELLO_BYTES + strangers.MAC_BYTES]
        with socket.create_connection(("127.0.0.1", job.port), timeout=10) as connection:
            connection.sendall(hello)
            answer = strangers.read_exactly(connection, strangers.ANSWER_BYTES)
            assert len(answer) == strangers.ANSWER_BYTES
            connection.sendall(proof)
            assert strangers.read_exactly(connection, strangers.MAC_BYTES) == b""
        # The whole recording at once fares no better: only the fresh answer may come back.
        with socket.create_connection(("127.0.0.1", job.port), timeout=10) as connection:
            connection.sendall(said)
            try:
                got = strangers.read_exactly(connection, 1000)
            except ConnectionError:
                got = b""
            assert len(got) <= strangers.ANSWER_BYTES
        assert finish(job) == 2


def test_false_rank_zero_of_another_version_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
        with Job(2, "loop", only=[1], per_rank={1: {
                "UNISONO_ADDRESS": f"127.0.0.1:{port}", "UNISONO_JOIN_TIMEOUT_S": "3600"}}) as job:
            guest, _ = door.accept()
            with guest:
                assert strangers.read_exactly(guest, strangers.HELLO_BYTES)[:8] == strangers.MAGIC
                answer = strangers.MAGIC + struct.pack("<HBBi", 7, 1, 0, 0)
                guest.sendall(answer.ljust(strangers.ANSWER_BYTES, b"\0"))
                assert job.ranks[0].finish() == 4
            refusal, = job.ranks[0].events("refused")
            assert refusal["code"] == "Refused"
            assert "version 7" in refusal["message"]
            assert f"speaks {strangers.VERSION}" in refusal["message"]
