# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A rank with CPU sets: says, as one JSON line, which CPUs the kernel gives to whom.

affinity.py call|option [torch]    call: binds by bind_compute(); option: expects init() to do so
"""

import json
import multiprocessing
import os
import sys
import threading


def cpus_by_thread():
    """The masks of all threads of this process, with their names."""
    found = {}
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/comm") as file:
            found.setdefault(file.read().strip(), []).append(
                sorted(os.sched_getaffinity(int(thread))))
    return found


def tell_cpus(queue, begin):
    begin(0)
    queue.put(sorted(os.sched_getaffinity(0)))


class Numbers:
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return sorted(os.sched_getaffinity(0))


def main():
    import unisono

    over = threading.Event()
    early = threading.Thread(target=over.wait)  # as a pool that a library has made at import
    early.start()
    unisono.init()
    told = {"placement": unisono.placement(), "before": sorted(os.sched_getaffinity(0))}
    begin = unisono.worker_init()
    if sys.argv[1] == "call":
        for start in ("fork", "spawn"):
            context = multiprocessing.get_context(start)
            queue = context.Queue()
            worker = context.Process(target=tell_cpus, args=(queue, begin))
            worker.start()
            told[start] = queue.get()
            worker.join()
        told["bound"] = unisono.bind_compute()
    told["threads"] = cpus_by_thread()
    if "torch" in sys.argv:
        import torch

        import unisono.torch as hvd
        loader = torch.utils.data.DataLoader(Numbers(), batch_size=None, num_workers=2,
                                             worker_init_fn=hvd.worker_init(then=lambda number: None))
        told["loader"] = list(loader)
    loading = threading.Thread(target=lambda: (unisono.bind_input(), told.update(
        loading=sorted(os.sched_getaffinity(0)))))
    loading.start()
    loading.join()
    over.set()
    early.join()
    unisono.shutdown()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
