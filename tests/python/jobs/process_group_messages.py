# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""send and recv on backend unisono, on three ranks, and what they leave behind. Argument: a store's
file."""

import threading
import time

import torch
import torch.distributed as dist

from checks import Skip, check, run_all
from process_group_support import RANK, SIZE, TORCH, mine, same, start
from unisono.torch.backend import rendezvous
from unisono.torch.backend.process_group import group_of


@check
def send_and_receive():
    following, before = (RANK + 1) % SIZE, (RANK - 1) % SIZE
    got = torch.zeros(2, 3)
    sends = [dist.isend(mine(2, 3), following, tag=1), dist.isend(mine(4), following, tag=2)]
    second = torch.zeros(2, 2)
    dist.recv(second, before, tag=2)
    dist.recv(got, before, tag=1)
    for each in sends:
        each.wait()
    same(got, mine(2, 3, rank=before))
    same(second.reshape(-1), mine(4, rank=before))
    strided = torch.zeros(4, 2)[:, 0]
    requests = dist.batch_isend_irecv([dist.P2POp(dist.isend, mine(4), following),
                                       dist.P2POp(dist.irecv, strided, before)])
    for request in requests:
        request.wait()
    same(strided, mine(4, rank=before))
    for number in range(10):
        ball = torch.tensor([float(number)])
        if RANK == 0:
            dist.send(ball, 1)
            dist.recv(ball, 1)
            same(ball, torch.tensor([number + 1.0]))
        elif RANK == 1:
            dist.recv(ball, 0)
            dist.send(ball + 1, 0)


@check
def receive_from_anybody():
    if RANK:
        dist.send(torch.tensor([float(RANK)]), 0, tag=9)
        return
    got = set()
    for _ in range(SIZE - 1):
        tensor = torch.zeros(1)
        dist.irecv(tensor, tag=9).wait()
        got.add(int(tensor))
    assert got == set(range(1, SIZE)), got


@check
def slow_sends_leave_nothing_in_the_store():
    """Sends that wait to be taken are told to the store; once taken, it forgets them."""
    if TORCH < (2, 2):
        raise Skip("this torch's stores do not count their keys")
    store = group_of()._store
    following, before = (RANK + 1) % SIZE, (RANK - 1) % SIZE
    dist.isend(torch.zeros(1), following).wait() if RANK == 0 else None
    dist.recv(torch.zeros(1), before) if RANK == 1 else None
    dist.barrier()
    empty = store.num_keys()
    dist.barrier()
    for tag in range(100, 110):
        sent = [dist.isend(mine(2), following, tag=tag), dist.isend(mine(3), before, tag=tag)]
        while not rendezvous.has(store, [f"sent/send {RANK} to {following} tag {tag} number 0"]):
            time.sleep(0.001)
        dist.barrier()
        got = torch.zeros(2)
        dist.recv(got, before, tag=tag)
        if tag % 2:
            dist.recv(torch.zeros(3), following, tag=tag)
        else:  # Only the other neighbour's is left.
            dist.recv(torch.zeros(3), tag=tag)
        for each in sent:
            each.wait()
        same(got, mine(2, rank=before))
    dist.barrier()
    deadline = time.monotonic() + 30
    while store.num_keys() > empty and time.monotonic() < deadline:
        time.sleep(0.01)
    assert store.num_keys() <= empty, f"{store.num_keys()} keys, {empty} before"
    dist.barrier()


@check
def receives_from_anybody_leave_no_threads():
    dist.barrier()
    before = threading.active_count()
    for number in range(5):
        if RANK == 0:
            tensor = torch.zeros(1)
            future = dist.irecv(tensor, tag=30 + number).get_future()
            future.wait()
            assert tensor.item() == number
        elif RANK == 1:
            dist.send(torch.tensor([float(number)]), 0, tag=30 + number)
    deadline = time.monotonic() + 30
    while threading.active_count() > before + 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    # The threads of the announcer may have begun here.
    assert threading.active_count() <= before + 2, threading.enumerate()
    dist.barrier()


@check
def inputs_may_be_overwritten_right_after_completion():
    """By every call, with no barrier in between: nobody reads a tensor whose owner has been told that
    the call is done."""
    for count in (1, 1000, 100_000):
        for round_ in range(8):
            def fresh(rank, n=count):
                return torch.full((n,), float(rank + 1 + 10 * round_))

            def done(work, *inputs):
                if round_ % 2:
                    work.get_future().wait()
                else:
                    work.wait()
                for each in inputs:
                    each.fill_(-1e9)

            total = sum(fresh(rank) for rank in range(SIZE))
            tensor = fresh(RANK)
            done(dist.all_reduce(tensor, async_op=True))
            same(tensor, total)
            tensor.fill_(-1e9)
            root, tensor = round_ % SIZE, fresh(RANK)
            done(dist.broadcast(tensor, root, async_op=True))
            same(tensor, fresh(root))
            tensor.fill_(-1e9)
            tensor = fresh(RANK)
            done(dist.reduce(tensor, root, async_op=True))
            same(tensor, total if RANK == root else fresh(RANK))
            tensor.fill_(-1e9)
            output, tensor = torch.zeros(SIZE * count), fresh(RANK)
            done(dist.all_gather_into_tensor(output, tensor, async_op=True), tensor)
            same(output, torch.cat([fresh(rank) for rank in range(SIZE)]))
            rows, tensor = [torch.zeros(count) for _ in range(SIZE)], fresh(RANK)
            done(dist.all_gather(rows, tensor, async_op=True), tensor)
            same(torch.cat(rows), output)
            output, tensor = torch.zeros(count), fresh(RANK).repeat(SIZE)
            done(dist.reduce_scatter_tensor(output, tensor, async_op=True), tensor)
            same(output, total)
            output, rows = torch.zeros(count), list(fresh(RANK).repeat(SIZE).split(count))
            done(dist.reduce_scatter(output, rows, async_op=True), *rows)
            same(output, total)
            rows = [torch.zeros(count) for _ in range(SIZE)] if RANK == root else None
            tensor = fresh(RANK)
            done(dist.gather(tensor, rows, root, async_op=True), tensor)
            if rows:
                same(torch.cat(rows), torch.cat([fresh(rank) for rank in range(SIZE)]))
            rows = [fresh(rank) for rank in range(SIZE)] if RANK == root else None
            output = torch.zeros(count)
            done(dist.scatter(output, rows, root, async_op=True), *(rows or ()))
            same(output, fresh(RANK))
            rows = [fresh(RANK) for _ in range(SIZE)]
            output = [torch.zeros(count) for _ in range(SIZE)]
            done(dist.all_to_all(output, rows, async_op=True), *rows)
            same(torch.cat(output), torch.cat([fresh(rank) for rank in range(SIZE)]))
            output, tensor = torch.zeros(SIZE * count), fresh(RANK).repeat(SIZE)
            done(dist.all_to_all_single(output, tensor, async_op=True), tensor)
            same(output, torch.cat([fresh(rank) for rank in range(SIZE)]))
            tensor, output = fresh(RANK), torch.zeros(count)
            work = dist.isend(tensor, (RANK + 1) % SIZE)
            dist.recv(output, (RANK - 1) % SIZE)
            done(work, tensor)
            same(output, fresh((RANK - 1) % SIZE))


start()
run_all()
