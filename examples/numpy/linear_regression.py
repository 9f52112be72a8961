# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Linear regression by gradient descent, each rank with rows of its own.

    unisono run -np 2 python examples/numpy/linear_regression.py
"""

import numpy as np

import unisono

FEATURES, ROWS, STEPS, RATE = 32, 2000, 200, 0.1


def main() -> None:
    unisono.init()
    truth = np.random.default_rng(0).normal(size=FEATURES)
    mine = np.random.default_rng(1 + unisono.rank())
    inputs = mine.normal(size=(ROWS, FEATURES))
    targets = inputs @ truth + 0.1 * mine.normal(size=ROWS)

    weights = unisono.broadcast(mine.normal(size=FEATURES), 0, name="weights")
    for _ in range(STEPS):
        gradient = inputs.T @ (inputs @ weights - targets) / ROWS
        weights -= RATE * unisono.allreduce_(gradient, name="gradient")

    error = unisono.allreduce(np.mean((inputs @ weights - targets) ** 2), name="error")
    everyone = unisono.allgather(weights[None, :], name="check")
    assert (everyone == weights).all(), "the ranks hold different weights"
    if unisono.rank() == 0:
        distance = np.abs(weights - truth).max()
        print(f"{unisono.size()} ranks, {STEPS} steps: mean squared error {error:.4f} "
              f"(noise 0.0100), largest error of a weight {distance:.4f}, "
              f"{unisono.stats()['exposed_s'] * 1e3 / STEPS:.3f} ms exposed per step")


if __name__ == "__main__":
    main()
